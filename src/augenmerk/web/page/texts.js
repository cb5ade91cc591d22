/** The texts of the page, each in all languages. */

export const LANGUAGES = ["en", "de"];
export const PAGE_TEXTS = {
  title: ["A translator that shows where it looks", "Ein Übersetzer, der zeigt, wohin er schaut"],
  source: ["{language} sentence", "Satz ({language})"],
  sourceUnknown: ["Sentence", "Satz"],
  translation: ["Translation ({language})", "Übersetzung ({language})"],
  translationUnknown: ["Translation", "Übersetzung"],
  placeholder: ["Type a sentence …", "Einen Satz eingeben …"],
  examples: ["Examples", "Beispiele"],
  beam: ["Beam size", "Beam-Breite"],
  beamTitle: [
    "How many hypotheses the search keeps; 1 is greedy search.",
    "Wie viele Hypothesen die Suche behält; 1 ist Greedy-Suche.",
  ],
  view: ["View", "Darstellung"],
  map: ["Heat map", "Karte"],
  lines: ["Lines", "Linien"],
  unit: ["Tokens", "Token"],
  words: ["Words", "Wörter"],
  subwords: ["Subwords", "Wortteile"],
  theme: ["Colours", "Farben"],
  auto: ["System", "System"],
  light: ["Light", "Hell"],
  dark: ["Dark", "Dunkel"],
  projector: ["Projector", "Projektor"],
  language: ["Language", "Sprache"],
  copy: ["Copy", "Kopieren"],
  copyLink: ["Link", "Link"],
  copied: ["Copied.", "Kopiert."],
  saved: [
    "Saved as a file, because this browser does not let a page copy.",
    "Als Datei gespeichert, weil dieser Browser einer Seite das Kopieren nicht erlaubt.",
  ],
  copyFailed: ["Copying failed: {reason}", "Kopieren fehlgeschlagen: {reason}"],
  empty: ["Type a sentence, or choose an example.", "Einen Satz eingeben oder ein Beispiel wählen."],
  waiting: ["Loading the model; the translation follows.", "Das Modell wird geladen; die Übersetzung folgt."],
  computing: ["translating …", "übersetzt …"],
  loadFailed: ["The model could not be loaded: {reason}", "Das Modell konnte nicht geladen werden: {reason}"],
  failed: ["The model cannot do this: {reason}", "Das kann das Modell nicht: {reason}"],
  noWords: ["Nothing to show: there are no words.", "Nichts zu zeigen: Es gibt keine Wörter."],
  truncated: [
    "The sentence is too long for the model: only its beginning was translated.",
    "Der Satz ist zu lang für das Modell: Nur sein Anfang wurde übersetzt.",
  ],
  unfinished: [
    "The translation was cut off at its maximum length.",
    "Die Übersetzung wurde bei der maximalen Länge abgebrochen.",
  ],
  uncovered: [
    "The translation probably leaves out “{text}”: it got almost no attention.",
    "Die Übersetzung lässt vermutlich „{text}“ aus: Darauf fiel fast keine Aufmerksamkeit.",
  ],
  lookAtSentence: ["Show the translation of: {source}", "Übersetzung zeigen von: {source}"],
  unfamiliar: [
    "This sentence is unlike the text that the model was trained on (it has {reason}), so its translation may be nonsense. Is it in the right language?",
    "Der Satz gleicht nicht den Texten, mit denen dieses Modell trainiert wurde (er enthält {reason}); seine Übersetzung ist vielleicht Unsinn. Ist er in der richtigen Sprache?",
  ],
  strangeCharacters: ["characters that the model never saw", "Zeichen, die das Modell nie gelernt hat"],
  unknownWords: [
    "mostly words that the model does not know",
    "überwiegend Wörter, die das Modell nicht kennt",
  ],
  rareWords: [
    "words, or parts of words, that the model hardly ever saw",
    "Wörter oder Wortteile, die das Modell kaum je gesehen hat",
  ],
  noAttention: [
    "This model attends to nothing: all weights are 0.",
    "Dieses Modell schaut auf nichts: Alle Gewichte sind 0.",
  ],
  end: ["end of sentence", "Ende des Satzes"],
  begin: ["start", "Anfang"],
  attention: ["attention", "Aufmerksamkeit"],
  mapCaption: [
    "Attention: a row for each word produced, a column for each word of the source",
    "Aufmerksamkeit: eine Zeile für jedes erzeugte Wort, eine Spalte für jedes Wort des Satzes",
  ],
  cell: ["{target} attends to {source}: {weight}", "{target} beachtet {source}: {weight}"],
  row: ["{target} attends to {words}", "{target} beachtet {words}"],
  "nothing row": ["{target} attends to no word in particular.", "{target} beachtet kein bestimmtes Wort."],
  column: ["{source} is attended to by {words}", "{source} wird beachtet von {words}"],
  "nothing column": ["{source} gets hardly any attention.", "{source} wird kaum beachtet."],
  pointHint: [
    "Point at a word; click it to see the other candidates.",
    "Auf ein Wort zeigen; ein Klick zeigt die anderen Kandidaten.",
  ],
  changedHere: ["attention changed here", "Aufmerksamkeit hier geändert"],
  place: ["Selected word", "Ausgewähltes Wort"],
  placeHint: ["Select a word of the translation.", "Ein Wort der Übersetzung auswählen."],
  says: ["{word} · word {place} of {count}", "{word} · Wort {place} von {count}"],
  before: ["Previous word", "Voriges Wort"],
  after: ["Next word", "Nächstes Wort"],
  nextBest: ["Candidates", "Kandidaten"],
  looksAt: ["Attends to", "Beachtet"],
  goOnWith: ["Continue with “{word}”", "Mit „{word}“ fortfahren"],
  begun: ["Starts as you chose: {words}", "Beginnt wie gewählt: {words}"],
  changedAt: ["Attention changed at word {place}", "Aufmerksamkeit bei Wort {place} geändert"],
  changedAtPlaces: ["Attention changed at words {place}", "Aufmerksamkeit bei den Wörtern {place} geändert"],
  undo: ["Undo", "Zurücknehmen"],
  change: ["Change the attention", "Die Aufmerksamkeit ändern"],
  changeHint: [
    "Select a word of the translation, then set where the model looks when it says that word.",
    "Ein Wort der Übersetzung auswählen und einstellen, wohin das Modell dabei schaut.",
  ],
  changeFor: [
    "What if the model looked elsewhere when it says “{word}”?",
    "Was wäre, wenn das Modell bei „{word}“ anderswohin schaute?",
  ],
  changeTransformer: [
    "Only a GRU allows this to be computed exactly; this model is a Transformer.",
    "Das lässt sich nur für ein GRU exakt berechnen; dieses Modell ist ein Transformer.",
  ],
  changeNone: [
    "This model attends to nothing, so there is nothing to change.",
    "Dieses Modell schaut auf nichts, also gibt es nichts zu ändern.",
  ],
  changeWaiting: ["Available once the model is loaded.", "Verfügbar, sobald das Modell geladen ist."],
  own: ["Reset", "Zurücksetzen"],
  uniform: ["Uniform", "Gleichmäßig"],
  swap: ["Swap", "Tauschen"],
  swapFirst: ["first word to swap", "erstes Wort zum Tauschen"],
  swapSecond: ["second word to swap", "zweites Wort zum Tauschen"],
  weightOf: ["Weight of {word}", "Gewicht von {word}"],
  percentOf: ["Weight of {word} in percent", "Gewicht von {word} in Prozent"],
  ownWeight: ["model: {weight}", "Modell: {weight}"],
  allOn: ["All attention on “{word}”", "Alle Aufmerksamkeit auf „{word}“"],
  weightsCaption: [
    "Weights of the source words when the model says “{word}”",
    "Gewichte der Quellwörter, wenn das Modell „{word}“ sagt",
  ],
  editorHint: [
    "Click a source word to put all attention on it. The small mark shows the model's own weight.",
    "Ein Klick auf ein Quellwort legt alle Aufmerksamkeit darauf. Die kleine Marke zeigt das Gewicht des Modells.",
  ],
  allHeads: [
    "All heads get the same weights here; the model's own differ from head to head, and their mean is shown.",
    "Alle Köpfe bekommen hier dieselben Gewichte; die des Modells sind von Kopf zu Kopf verschieden, gezeigt ist ihr Mittel.",
  ],
  nextNow: ["Next word with these weights", "Nächstes Wort mit diesen Gewichten"],
  goOn: ["Continue from here", "Von hier fortfahren"],
  wanted: ["What would make it say …", "Welche Aufmerksamkeit ließe es dies sagen …"],
  find: ["Find", "Finden"],
  wins: [
    "With this attention, “{word}” is the most likely word: {probability} (with the model's own attention {own}). No other attention makes it more likely.",
    "Mit dieser Aufmerksamkeit ist „{word}“ das wahrscheinlichste Wort: {probability} (mit der des Modells {own}). Keine andere macht es wahrscheinlicher.",
  ],
  winsElsewhere: [
    "With this attention, “{word}” comes first. Another one makes it more likely still, {probability} (the model's own: {own}), but then “{best}” has {other}.",
    "Mit dieser Aufmerksamkeit liegt „{word}“ vorn. Eine andere macht es noch wahrscheinlicher, {probability} (die des Modells: {own}), aber dann hat „{best}“ {other}.",
  ],
  undecided: [
    "This attention makes “{word}” as likely as it gets: {probability} (with the model's own attention {own}). Whether it comes first under any attention is too close to call.",
    "Diese Aufmerksamkeit macht „{word}“ so wahrscheinlich wie möglich: {probability} (mit der des Modells {own}). Ob es mit irgendeiner vorn läge, lässt sich nicht sagen: Es ist zu knapp.",
  ],
  losesTo: [
    "No attention puts “{word}” first: this one makes it as likely as it gets, {probability} (with the model's own attention {own}), but “{best}” has {other}.",
    "Keine Aufmerksamkeit bringt „{word}“ nach vorn: Diese macht es so wahrscheinlich wie möglich, {probability} (mit der des Modells {own}), aber „{best}“ hat {other}.",
  ],
  notInVocabulary: [
    "“{word}” is not a single entry of the model's vocabulary; choose one of the suggestions, or the beginning of a word.",
    "„{word}“ ist kein einzelner Eintrag im Vokabular des Modells; wähle einen Vorschlag oder einen Wortanfang.",
  ],
  beamTree: ["Beam tree", "Suchbaum"],
  beamHint: [
    "Each step keeps the {beam} best continuations of all hypotheses and drops the others. Click a word to continue from there.",
    "Jeder Schritt behält die {beam} besten Fortsetzungen aller Hypothesen und verwirft die anderen. Ein Klick auf ein Wort macht dort weiter.",
  ],
  greedyHint: [
    "Greedy search keeps only the most likely word; choose a larger beam to see a tree. Click a word to continue from there.",
    "Greedy-Suche behält nur das wahrscheinlichste Wort; ein breiterer Beam zeigt einen Baum. Ein Klick auf ein Wort macht dort weiter.",
  ],
  step: ["Step", "Schritt"],
  stepOf: ["step {step} of {count}", "Schritt {step} von {count}"],
  firstStep: ["First step", "Erster Schritt"],
  stepBack: ["Previous step", "Voriger Schritt"],
  stepOn: ["Next step", "Nächster Schritt"],
  lastStep: ["Last step", "Letzter Schritt"],
  stepCaption: [
    "Continuations considered in this step, best first",
    "In diesem Schritt erwogene Fortsetzungen, beste zuerst",
  ],
  soFar: ["so far", "bisher"],
  nextWord: ["then", "dann"],
  probability: ["probability", "Wahrscheinlichkeit"],
  score: ["score", "Wertung"],
  fate: ["outcome", "Ergebnis"],
  kept: ["kept", "behalten"],
  keptLast: ["kept; still open when the search stopped", "behalten; am Ende der Suche noch offen"],
  finished: ["finished", "fertig"],
  dropped: [
    "dropped: {score} is below {lowest}, the last score kept",
    "verworfen: {score} liegt unter {lowest}, der letzten behaltenen",
  ],
  more: ["… and {count} more, dropped.", "… und {count} weitere, die verworfen wurden."],
  found: ["Finished translations", "Fertige Übersetzungen"],
  model: ["model", "Modell"],
  mechanism: ["attention", "Aufmerksamkeit"],
  perWord: ["mean word probability", "mittlere Wortwahrscheinlichkeit"],
  spread: ["source words attended to per word", "beachtete Quellwörter je Wort"],
  same: ["Both give the same translation.", "Beide übersetzen gleich."],
  different: ["The translations differ.", "Die Übersetzungen unterscheiden sich."],
  attentionOf: ["Attention", "Aufmerksamkeit"],
  cross: ["to the source", "auf den Satz"],
  encoder: ["within the encoder", "im Encoder"],
  decoder: ["within the decoder", "im Decoder"],
  layer: ["Layer", "Schicht"],
  head: ["Head", "Kopf"],
  mean: ["mean", "Mittel"],
  all: ["all, small", "alle, klein"],
  headName: ["layer {layer}, head {head}", "Schicht {layer}, Kopf {head}"],
  headOnly: ["head {head}", "Kopf {head}"],
  layerName: ["layer {layer}", "Schicht {layer}"],
  layerMean: ["mean of all layers", "Mittel aller Schichten"],
  headMean: ["mean of all heads", "Mittel aller Köpfe"],
  "name cross": ["Attention to the source", "Aufmerksamkeit auf den Satz"],
  "name encoder": [
    "Attention within the encoder, between source words",
    "Aufmerksamkeit im Encoder, zwischen den Wörtern des Satzes",
  ],
  "name decoder": [
    "Attention within the decoder, to earlier target words",
    "Aufmerksamkeit im Decoder, auf frühere Wörter der Übersetzung",
  ],
  smallHint: [
    "Rows attend to columns. Click a map to enlarge it.",
    "Die Wörter der Zeilen beachten die der Spalten. Ein Klick vergrößert eine Karte.",
  ],
  headSpread: ["a word attends to {words} words on average", "ein Wort beachtet im Mittel {words} Wörter"],
  privacy: [
    "Everything is computed in this page: your text is not sent anywhere.",
    "Alles wird in dieser Seite berechnet: Dein Text wird nirgendwohin gesendet.",
  ],
  rounded: [
    "The weights were rounded to half precision (fp16), so the last digits differ from those of the run.",
    "Die Gewichte wurden auf halbe Genauigkeit (fp16) gerundet; die Zahlen weichen daher in den letzten Stellen von denen des Laufs ab.",
  ],
  licence: ["Licence of {name}:", "Lizenz von {name} (englisch):"],
  notLoaded: ["No model is loaded yet.", "Es ist noch kein Modell geladen."],
  noCall: ["There is no call “{call}”.", "Einen Aufruf „{call}“ gibt es nicht."],
  badBeam: [
    "A beam size of {beam} is impossible: it must be 1 (greedy) or more.",
    "Eine Beam-Breite von {beam} ist unmöglich: Sie muss 1 (greedy) oder mehr sein.",
  ],
  badNBest: [
    "{n_best} translations are impossible with a beam size of {beam}: ask for 1 to {beam}.",
    "{n_best} Übersetzungen sind bei Beam-Breite {beam} unmöglich: Es müssen 1 bis {beam} sein.",
  ],
  badLengthPenalty: [
    "A length penalty of {length_penalty} is impossible: it must be 0 or more.",
    "Ein Längenabzug von {length_penalty} ist unmöglich: Er muss 0 oder mehr sein.",
  ],
  badId: [
    "{id} is not the id of a word: expected {least} to {most}.",
    "Die Nummer {id} gehört zu keinem Wort: erwartet wird {least} bis {most}.",
  ],
  badWeights: [
    "Attention needs {length} weights, one for each source token and the end of the sentence; none below 0, and not all 0.",
    "Die Aufmerksamkeit braucht {length} Gewichte, eines für jedes Token des Satzes und sein Ende, ab 0 und nicht alle 0.",
  ],
  notChangeable: [
    "Replacing attention at single words needs decoder states that do not depend on it (equation 10), which is not true of the architecture “{architecture}”.",
    "Aufmerksamkeit an einzelnen Wörtern zu ersetzen verlangt Zustände des Decoders, die nicht von ihr abhängen (Gleichung 10); das gilt nicht für die Architektur „{architecture}“.",
  ],
  nothingToChange: [
    "This model attends to nothing: there is no attention to replace.",
    "Dieses Modell schaut auf nichts: Es gibt keine Aufmerksamkeit zu ersetzen.",
  ],
  otherFormat: [
    "The model has format {format}, and this page reads format {expected}: export it again.",
    "Das Modell hat Format {format}, und diese Seite liest Format {expected}: bitte neu exportieren.",
  ],
  weightsEnd: [
    "The weights end before {name}: the file is incomplete.",
    "Die Gewichte enden vor {name}: Die Datei ist nicht vollständig.",
  ],
  weightsLack: [
    "The weights lack {name}: they belong to another model.",
    "Den Gewichten fehlt {name}: Sie gehören nicht zu diesem Modell.",
  ],
  weightsShape: [
    "The weights have {name} as {found}, but the model needs {needed}.",
    "{name} ist {found} groß, aber das Modell braucht {needed}.",
  ],
  unexpected: ["{message}", "{message}"],
};

/** Returns the language of the page: the one that is asked for, or else the first that the browser prefers. */
export function chooseLanguage(asked, preferred) {
  const wanted = [asked, ...preferred.map((language) => language.slice(0, 2).toLowerCase()), "en"];
  return wanted.find((language) => LANGUAGES.includes(language));
}

/**
 * Returns a function that gives a text by its key, with values in the place of `{names}`, from the texts above and from
 * other tables like these, of which later ones come first. Without any text it gives what follows the first word of the key.
 */
export function makeTexts(language, ...tables) {
  const known = Object.assign({}, PAGE_TEXTS, ...tables);
  const place = LANGUAGES.indexOf(language);
  const t = (key, values = {}) => {
    const text = known[key]?.[place] ?? key.slice(key.indexOf(" ") + 1);
    return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  };
  t.language = language;
  return t;
}

/** Says what an error of the engine means (`engine/errors.js`); one of the browser says it itself. */
export function explainError(error, t) {
  if (!error) return "";
  return error.code in PAGE_TEXTS ? t(error.code, error.values) : error.message;
}

/** Returns the name of a language in the language of the page, or its code if it has none. */
export function nameLanguage(code, language) {
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

/** The texts of the page, in English and German. */

export const PAGE_TEXTS = {
  en: {
    title: "A translator that shows where it looks",
    source: "{language} sentence",
    sourceUnknown: "Sentence",
    translation: "Translation ({language})",
    translationUnknown: "Translation",
    placeholder: "Type a sentence …",
    examples: "Examples",
    beam: "Beam size",
    beamTitle: "How many hypotheses the search keeps; 1 is greedy search.",
    view: "View",
    map: "Heat map",
    lines: "Lines",
    unit: "Tokens",
    words: "Words",
    subwords: "Subwords",
    theme: "Colours",
    auto: "System",
    light: "Light",
    dark: "Dark",
    projector: "Projector",
    language: "Language",
    copy: "Copy",
    copyLink: "Link",
    copied: "Copied.",
    saved: "Saved as a file, because this browser does not let a page copy.",
    copyFailed: "Copying failed: {reason}",
    empty: "Type a sentence, or choose an example.",
    waiting: "Loading the model; the translation follows.",
    computing: "translating …",
    loadFailed: "The model could not be loaded: {reason}",
    failed: "The model cannot do this: {reason}",
    noWords: "Nothing to show: there are no words.",
    truncated: "The sentence is too long for the model: only its beginning was translated.",
    unfinished: "The translation was cut off at its maximum length.",
    uncovered: "The translation probably leaves out “{text}”: it got almost no attention.",
    lookAtSentence: "Show the translation of: {source}",
    unfamiliar:
      "This sentence is unlike the text that the model was trained on (it has {reason}), so its translation may be nonsense. Is it in the right language?",
    strangeCharacters: "characters that the model never saw",
    unknownWords: "mostly words that the model does not know",
    rareWords: "words, or parts of words, that the model hardly ever saw",
    noAttention: "This model attends to nothing: all weights are 0.",
    end: "end of sentence",
    begin: "start",
    attention: "attention",
    mapCaption: "Attention: a row for each word produced, a column for each word of the source",
    cell: "{target} attends to {source}: {weight}",
    row: "{target} attends to {words}",
    rowNothing: "{target} attends to no word in particular.",
    column: "{source} is attended to by {words}",
    columnNothing: "{source} gets hardly any attention.",
    pointHint: "Point at a word; click it to see the other candidates.",
    changedHere: "attention changed here",
    place: "Selected word",
    placeHint: "Select a word of the translation.",
    says: "{word} · word {place} of {count}",
    before: "Previous word",
    after: "Next word",
    nextBest: "Candidates",
    looksAt: "Attends to",
    goOnWith: "Continue with “{word}”",
    begun: "Starts as you chose: {words}",
    changedAt: "Attention changed at word {place}",
    changedAtPlaces: "Attention changed at words {place}",
    undo: "Undo",
    change: "Change the attention",
    changeHint: "Select a word of the translation, then set where the model looks when it says that word.",
    changeFor: "What if the model looked elsewhere when it says “{word}”?",
    changeTransformer: "Only a GRU allows this to be computed exactly; this model is a Transformer.",
    changeNone: "This model attends to nothing, so there is nothing to change.",
    changeWaiting: "Available once the model is loaded.",
    own: "Reset",
    uniform: "Uniform",
    swap: "Swap",
    swapFirst: "first word to swap",
    swapSecond: "second word to swap",
    weightOf: "Weight of {word}",
    percentOf: "Weight of {word} in percent",
    ownWeight: "model: {weight}",
    allOn: "All attention on “{word}”",
    weightsCaption: "Weights of the source words when the model says “{word}”",
    editorHint:
      "Click a source word to put all attention on it. The small mark shows the model's own weight.",
    allHeads:
      "All heads get the same weights here; the model's own differ from head to head, and their mean is shown.",
    nextNow: "Next word with these weights",
    goOn: "Continue from here",
    wanted: "What would make it say …",
    find: "Find",
    wins: "With this attention, “{word}” is the most likely word: {probability} (with the model's own attention {own}). No other attention makes it more likely.",
    winsElsewhere:
      "With this attention, “{word}” comes first. Another one makes it more likely still, {probability} (the model's own: {own}), but then “{best}” has {other}.",
    undecided:
      "This attention makes “{word}” as likely as it gets: {probability} (with the model's own attention {own}). Whether it comes first under any attention is too close to call.",
    losesTo:
      "No attention puts “{word}” first: this one makes it as likely as it gets, {probability} (with the model's own attention {own}), but “{best}” has {other}.",
    notInVocabulary:
      "“{word}” is not a single entry of the model's vocabulary; choose one of the suggestions, or the beginning of a word.",
    beamTree: "Beam tree",
    beamHint:
      "Each step keeps the {beam} best continuations of all hypotheses and drops the others. Click a word to continue from there.",
    greedyHint:
      "Greedy search keeps only the most likely word; choose a larger beam to see a tree. Click a word to continue from there.",
    step: "Step",
    stepOf: "step {step} of {count}",
    firstStep: "First step",
    stepBack: "Previous step",
    stepOn: "Next step",
    lastStep: "Last step",
    stepCaption: "Continuations considered in this step, best first",
    soFar: "so far",
    nextWord: "then",
    probability: "probability",
    score: "score",
    fate: "outcome",
    kept: "kept",
    keptLast: "kept; still open when the search stopped",
    finished: "finished",
    dropped: "dropped: {score} is below {lowest}, the last score kept",
    more: "… and {count} more, dropped.",
    found: "Finished translations",
    model: "model",
    mechanism: "attention",
    perWord: "mean word probability",
    spread: "source words attended to per word",
    same: "Both give the same translation.",
    different: "The translations differ.",
    privacy: "Everything is computed in this page: your text is not sent anywhere.",
    rounded:
      "The weights were rounded to half precision (fp16), so the last digits differ from those of the run.",
    licence: "Licence of {name}:",
    notLoaded: "No model is loaded yet.",
    noCall: "There is no call “{call}”.",
    badBeam: "A beam size of {beam} is impossible: it must be 1 (greedy) or more.",
    badNBest: "{n_best} translations are impossible with a beam size of {beam}: ask for 1 to {beam}.",
    badLengthPenalty: "A length penalty of {length_penalty} is impossible: it must be 0 or more.",
    badId: "{id} is not the id of a word: expected {least} to {most}.",
    badWeights:
      "Attention needs {length} weights, one for each source token and the end of the sentence; none below 0, and not all 0.",
    notChangeable:
      "Replacing attention at single words needs decoder states that do not depend on it (equation 10), which is not true of the architecture “{architecture}”.",
    nothingToChange: "This model attends to nothing: there is no attention to replace.",
    otherFormat: "The model has format {format}, and this page reads format {expected}: export it again.",
    weightsEnd: "The weights end before {name}: the file is incomplete.",
    weightsLack: "The weights lack {name}: they belong to another model.",
    weightsShape: "The weights have {name} as {found}, but the model needs {needed}.",
    unexpected: "{message}",
  },
  de: {
    title: "Ein Übersetzer, der zeigt, wohin er schaut",
    source: "Satz ({language})",
    sourceUnknown: "Satz",
    translation: "Übersetzung ({language})",
    translationUnknown: "Übersetzung",
    placeholder: "Einen Satz eingeben …",
    examples: "Beispiele",
    beam: "Strahlbreite",
    beamTitle: "Wie viele Hypothesen die Suche behält; 1 ist gierige Suche.",
    view: "Darstellung",
    map: "Karte",
    lines: "Linien",
    unit: "Token",
    words: "Wörter",
    subwords: "Wortteile",
    theme: "Farben",
    auto: "System",
    light: "Hell",
    dark: "Dunkel",
    projector: "Projektor",
    language: "Sprache",
    copy: "Kopieren",
    copyLink: "Link",
    copied: "Kopiert.",
    saved: "Als Datei gespeichert, weil dieser Browser einer Seite das Kopieren nicht erlaubt.",
    copyFailed: "Kopieren fehlgeschlagen: {reason}",
    empty: "Einen Satz eingeben oder ein Beispiel wählen.",
    waiting: "Das Modell wird geladen; die Übersetzung folgt.",
    computing: "übersetzt …",
    loadFailed: "Das Modell konnte nicht geladen werden: {reason}",
    failed: "Das kann das Modell nicht: {reason}",
    noWords: "Nichts zu zeigen: Es gibt keine Wörter.",
    truncated: "Der Satz ist zu lang für das Modell: Nur sein Anfang wurde übersetzt.",
    unfinished: "Die Übersetzung wurde bei ihrer größten Länge abgebrochen.",
    uncovered: "Die Übersetzung lässt vermutlich „{text}“ aus: Darauf fiel fast keine Aufmerksamkeit.",
    lookAtSentence: "Übersetzung zeigen von: {source}",
    unfamiliar:
      "Der Satz gleicht nicht den Texten, mit denen dieses Modell trainiert wurde (er hat {reason}); seine Übersetzung ist vielleicht Unsinn. Ist er in der richtigen Sprache?",
    strangeCharacters: "Zeichen, die das Modell nie gelernt hat",
    unknownWords: "überwiegend Wörter, die das Modell nicht kennt",
    rareWords: "Wörter oder Wortteile, die das Modell kaum je gesehen hat",
    noAttention: "Dieses Modell schaut auf nichts: Alle Gewichte sind 0.",
    end: "Ende des Satzes",
    begin: "Anfang",
    attention: "Aufmerksamkeit",
    mapCaption: "Aufmerksamkeit: eine Zeile für jedes erzeugte Wort, eine Spalte für jedes Wort des Satzes",
    cell: "{target} beachtet {source}: {weight}",
    row: "{target} beachtet {words}",
    rowNothing: "{target} beachtet kein bestimmtes Wort.",
    column: "{source} wird beachtet von {words}",
    columnNothing: "{source} wird kaum beachtet.",
    pointHint: "Auf ein Wort zeigen; ein Klick zeigt die anderen Kandidaten.",
    changedHere: "Aufmerksamkeit hier geändert",
    place: "Ausgewähltes Wort",
    placeHint: "Ein Wort der Übersetzung auswählen.",
    says: "{word} · Wort {place} von {count}",
    before: "Voriges Wort",
    after: "Nächstes Wort",
    nextBest: "Kandidaten",
    looksAt: "Beachtet",
    goOnWith: "Mit „{word}“ fortfahren",
    begun: "Beginnt wie gewählt: {words}",
    changedAt: "Aufmerksamkeit bei Wort {place} geändert",
    changedAtPlaces: "Aufmerksamkeit bei den Wörtern {place} geändert",
    undo: "Zurücknehmen",
    change: "Die Aufmerksamkeit ändern",
    changeHint: "Ein Wort der Übersetzung auswählen und einstellen, wohin das Modell dabei schaut.",
    changeFor: "Was wäre, wenn das Modell bei „{word}“ anderswohin schaute?",
    changeTransformer: "Das lässt sich nur für ein GRU exakt berechnen; dieses Modell ist ein Transformer.",
    changeNone: "Dieses Modell schaut auf nichts, also gibt es nichts zu ändern.",
    changeWaiting: "Verfügbar, sobald das Modell geladen ist.",
    own: "Zurücksetzen",
    uniform: "Gleichmäßig",
    swap: "Tauschen",
    swapFirst: "erstes Wort zum Tauschen",
    swapSecond: "zweites Wort zum Tauschen",
    weightOf: "Gewicht von {word}",
    percentOf: "Gewicht von {word} in Prozent",
    ownWeight: "Modell: {weight}",
    allOn: "Alle Aufmerksamkeit auf „{word}“",
    weightsCaption: "Gewichte der Quellwörter, wenn das Modell „{word}“ sagt",
    editorHint:
      "Ein Klick auf ein Quellwort legt alle Aufmerksamkeit darauf. Die kleine Marke zeigt das Gewicht des Modells.",
    allHeads:
      "Alle Köpfe bekommen hier dieselben Gewichte; die des Modells sind von Kopf zu Kopf verschieden, gezeigt ist ihr Mittel.",
    nextNow: "Nächstes Wort mit diesen Gewichten",
    goOn: "Von hier fortfahren",
    wanted: "Was brächte es dazu, dies zu sagen …",
    find: "Finden",
    wins: "Mit dieser Aufmerksamkeit ist „{word}“ das wahrscheinlichste Wort: {probability} (mit der des Modells {own}). Keine andere macht es wahrscheinlicher.",
    winsElsewhere:
      "Mit dieser Aufmerksamkeit liegt „{word}“ vorn. Eine andere macht es noch wahrscheinlicher, {probability} (die des Modells: {own}), aber dann hat „{best}“ {other}.",
    undecided:
      "Diese Aufmerksamkeit macht „{word}“ so wahrscheinlich wie möglich: {probability} (mit der des Modells {own}). Ob es bei irgendeiner vorn liegt, ist zu knapp.",
    losesTo:
      "Keine Aufmerksamkeit bringt „{word}“ nach vorn: Diese macht es so wahrscheinlich wie möglich, {probability} (mit der des Modells {own}), aber „{best}“ hat {other}.",
    notInVocabulary:
      "„{word}“ ist kein einzelner Eintrag im Vokabular des Modells; wähle einen Vorschlag oder einen Wortanfang.",
    beamTree: "Suchbaum",
    beamHint:
      "Jeder Schritt behält die {beam} besten Fortsetzungen aller Hypothesen und verwirft die anderen. Ein Klick auf ein Wort macht dort weiter.",
    greedyHint:
      "Gierige Suche behält nur das wahrscheinlichste Wort; ein breiterer Strahl zeigt einen Baum. Ein Klick auf ein Wort macht dort weiter.",
    step: "Schritt",
    stepOf: "Schritt {step} von {count}",
    firstStep: "Erster Schritt",
    stepBack: "Voriger Schritt",
    stepOn: "Nächster Schritt",
    lastStep: "Letzter Schritt",
    stepCaption: "In diesem Schritt erwogene Fortsetzungen, beste zuerst",
    soFar: "bisher",
    nextWord: "dann",
    probability: "Wahrscheinlichkeit",
    score: "Wertung",
    fate: "Ergebnis",
    kept: "behalten",
    keptLast: "behalten; am Ende der Suche noch offen",
    finished: "fertig",
    dropped: "verworfen: {score} liegt unter {lowest}, der letzten behaltenen",
    more: "… und {count} weitere, die verworfen wurden.",
    found: "Fertige Übersetzungen",
    model: "Modell",
    mechanism: "Aufmerksamkeit",
    perWord: "mittlere Wortwahrscheinlichkeit",
    spread: "beachtete Quellwörter je Wort",
    same: "Beide übersetzen gleich.",
    different: "Die Übersetzungen unterscheiden sich.",
    privacy: "Alles wird in dieser Seite berechnet: Dein Text wird nirgendwohin gesendet.",
    rounded:
      "Die Gewichte wurden auf halbe Genauigkeit (fp16) gerundet; die Zahlen weichen daher in den letzten Stellen von denen des Laufs ab.",
    licence: "Lizenz von {name} (englisch):",
    notLoaded: "Es ist noch kein Modell geladen.",
    noCall: "Einen Aufruf „{call}“ gibt es nicht.",
    badBeam: "Eine Strahlbreite von {beam} ist unmöglich: Sie muss 1 (gierig) oder mehr sein.",
    badNBest: "{n_best} Übersetzungen sind bei Strahlbreite {beam} unmöglich: Es müssen 1 bis {beam} sein.",
    badLengthPenalty: "Ein Längenabzug von {length_penalty} ist unmöglich: Er muss 0 oder mehr sein.",
    badId: "Die Nummer {id} gehört zu keinem Wort: erwartet wird {least} bis {most}.",
    badWeights:
      "Die Aufmerksamkeit braucht {length} Gewichte, eines für jedes Token des Satzes und sein Ende, ab 0 und nicht alle 0.",
    notChangeable:
      "Aufmerksamkeit an einzelnen Wörtern zu ersetzen verlangt Zustände des Decoders, die nicht von ihr abhängen (Gleichung 10); das gilt nicht für die Architektur „{architecture}“.",
    nothingToChange: "Dieses Modell schaut auf nichts: Es gibt keine Aufmerksamkeit zu ersetzen.",
    otherFormat:
      "Das Modell hat Format {format}, und diese Seite liest Format {expected}: bitte neu exportieren.",
    weightsEnd: "Die Gewichte enden vor {name}: Die Datei ist nicht vollständig.",
    weightsLack: "Den Gewichten fehlt {name}: Sie gehören nicht zu diesem Modell.",
    weightsShape: "{name} ist {found} groß, aber das Modell braucht {needed}.",
    unexpected: "{message}",
  },
};

/** Returns the language of the page: the one that is asked for, or else German if the browser prefers it. */
export function chooseLanguage(asked, preferred) {
  if (asked in PAGE_TEXTS) return asked;
  const first = preferred.find((language) => language.slice(0, 2).toLowerCase() in PAGE_TEXTS);
  return first ? first.slice(0, 2).toLowerCase() : "en";
}

/**
 * Returns a function that gives a text by its key, with values in the place of `{names}`, from tables
 * {en: {...}, de: {...}}; later tables come first. What a language lacks is given in English, and without any text what
 * follows the first word of the key.
 */
export function makeTexts(language, ...tables) {
  const all = tables.length ? tables : [PAGE_TEXTS];
  const known = Object.assign(
    {},
    ...all.map((table) => table.en),
    ...all.map((table) => table[language] ?? {})
  );
  const t = (key, values = {}) =>
    (known[key] ?? key.slice(key.indexOf(" ") + 1)).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  t.language = language;
  return t;
}

/** Says what an error of the engine means (`engine/errors.js`); one of the browser says it itself. */
export function explainError(error, t) {
  if (!error) return "";
  return error.code in PAGE_TEXTS.en ? t(error.code, error.values) : error.message;
}

/** Returns the name of a language in the language of the page, or its code if it has none. */
export function nameLanguage(code, language) {
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

"""Splits running text into sentences, in any alphabet.

A model that learnt from single sentences leaves out what comes after the first.

A sentence ends at a line break, and at `.`, `!`, `?` or a mark that means the same in another script, with
the quotation marks and brackets that close there, before white space and what may begin a sentence:
anything but a small letter. Chinese, Japanese and some other scripts need no space. In a text without a
capital letter, a small letter begins a sentence, too. No sentence ends

- after a title (`Dr.`);
- after an abbreviation, a single letter or several with full stops (`z. B.`, `J. R. R. Tolkien`, `U.S.`),
  unless a word follows that often begins sentences (`in the U.S. The weather`);
- after a number of one or two digits, or a Roman one, in languages that write ordinals so (`am 3. Mai`);
- after the number of an item (`1. Der Hund bellt.`);
- after dots that stand for something left out (`Er sah ... Hunde`).

Where a space was forgotten, a sentence ends between two small letters and a capital (`schläft.Ein Hund`).
The marks of a list are not part of its sentences.

Abbreviations and first words are listed by language; without one, those of all languages count.
`engine/sentences.js` is the same in JavaScript, with the tables of `describe_rules`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from augenmerk.text.words import COMBINING, INVISIBLE

TERMINATORS = ".!?…‥‼⁇⁈⁉‽\u037e։؟۔؞؝܀܁܂߹࠷᙮᠃᠉᥄᥅꓿꘎꘏꛳꛷﹒﹖﹗．⸮"
"""What ends a sentence if white space follows: marks with the Unicode property Sentence_Terminal."""
ENDS_ALWAYS = "。｡！？।॥။។៕።፧፨"
"""What ends a sentence without white space, too."""
QUESTION_MARK = ";"
"""Ends a sentence after a Greek letter."""
GREEK = "\u0370-\u03ff\u1f00-\u1fff"
CLOSERS = "\"'”’“‘»«›‹)]}）］｝」』】》〉〕＂＇"
CLOSERS_APART = "»›"
"""May stand after a space and still close: `« Bonjour. » Elle sourit.`"""
BEFORE_SENTENCE = "\"'„‚“‘”’»«›‹([{（［｛「『【《〈〔¿¡-‐‑‒–—―•·*"
"""What may stand before the first letter of a sentence."""
LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
LONGEST_WORD = 40
LONGEST_NUMBER = 12
LIST_MARKS = "-–•·*▪‣"
"""What stands before an item of a list, at the beginning of a line and before a space."""

TITLES = """
dr prof mr mrs mx messrs sr sra srta sigg sigra dott dipl hrn frl mme mlle mgr mgrs mudr judr phdr rndr capt
lt sgt cpl rev gov dhr mevr drs avv mons lic проф акад инж доц δρ καθ κος κα
"""
"""Stand before a name, so no sentence ends there, whatever follows."""
CAPITAL_TITLES = """
hr fr st ms mm mag ing gen col maj hon sen rep pres fam doc mw arch bc sig av др
"""
"""Stand before a name if they begin with a capital; otherwise they are words or other abbreviations."""
BEFORE_NUMBERS = """
nr no nos n art fig figs abb vol vols p pp pag pág s str bd kap ch chap sec tab tbl ed jan jän feb mar mär
mrz apr jun jul aug sep sept okt oct nov dez dec núm num č čís br бр рис стр табл гл ст п αρ σελ kl max min ok
"""
"""Are abbreviations before a number only; `no`, `ok` and `max` are also words and names."""
STREET = "str"
"""Ends German words that are abbreviations before a number: `Hauptstr. 5`."""
ABBREVIATIONS = {
    "de": """abs allg bspw bzw ca co dgl ebd einschl engl entspr etw ev evtl exkl franz geb gegr gest ggf
        griech hl hrsg inkl insb jh jhd lat lfd mind mio mrd mwst od sog std stk tel tsd ua überarb
        usf verh vgl vs zb zzgl""",
    "en": "approx dept est esp incl vs viz ltd co cf al corp assn bros mt ft ave blvd rd tel univ",
    "cs": "např tzv tj mj popř resp ul sv odst kupř cca tzn příp vč obr zejm nám tř doc ing arch bc gen",
    "sk": "napr tzv tj resp ul sv príp cca nám tzn obr doc ing arch bc gen",
    "pl": "np tzw tzn tj ul al pl św im nr wg tys mln mld hab inż gen",
    "fr": "cf env av bd éd tél mm art ste me vol boul",
    "es": "av avda ud uds vd vds pág ej aprox tel cap excmo dra dña fco",
    "it": "es pag prof tel cap on egr gent ss sec ca sig avv ing arch",
    "pt": "av ex exmo exma pág tel cap dra aprox",
    "nl": "bijv bv ca blz resp mr mw ir ing nl evt incl excl",
    "ro": "dl dna dra ex str tel",
    "da": "ca bl fx eks hhv inkl ekskl mht pga tlf vha",
    "no": "ca bl eks jf inkl pga tlf evt",
    "sv": "ca bl ex inkl exkl jfr tel resp",
    "fi": "esim ks ns mm vrt n puh",
    "hu": "pl ún ill kb ifj id özv",
    "tr": "örn bkz yy sn alb",
    "ru": "ул им тыс млн млрд руб см напр др гг обл просп пер пл ред",
    "uk": "вул ім тис млн млрд грн див напр обл ред",
    "bg": "ул напр хил млн млрд лв гр",
    "sr": "ул нпр тзв тј",
    "hr": "npr tzv tj sv ul gđa",
    "el": "βλ κλπ τηλ εκ",
}
STARTERS = {
    "de": """der die das den dem ein eine einen einem einer er sie es wir ich ihr du man dies diese dieser
        dieses dann danach da dort jetzt hier im in auf am und aber auch sein seine ihre zwei drei
        viele was wer wie wo warum""",
    "en": """the a an he she it they we i you this that these those his her their there then here two three
        many in on at and but when while what who how where why my our""",
    "cs": """ten ta to ti ty on ona ono oni pak potom dva dvě tři v na je jsou a ale jeho její tento tato co
        kdo kde proč""",
    "sk": """ten tá to tí on ona ono oni potom dva dve traja v na je sú a ale jeho jej tento táto čo kto kde
        prečo""",
    "pl": """ten ta to ci te on ona ono oni potem dwa dwie trzy w na jest są i ale jego jej co kto gdzie
        dlaczego""",
    "fr": """le la les un une des il elle ils elles on ce cette ces puis deux trois nous je vous mais son sa
        ses dans""",
    "es": """el la los las un una unos unas él ella ellos ellas esto este esta hay dos tres pero su sus en
        nosotros yo""",
    "it": "il lo la gli le un uno una lui lei loro è due tre ma questo questa nel io noi",
    "pt": "o os as um uma ele ela eles elas este esta há dois duas três mas seu sua no na nós eu",
    "nl": "de het een hij zij ze er dit dat deze twee drie maar zijn haar in op wij ik we",
    "ro": "el ea ei ele un acest această doi două trei dar în pe noi eu",
    "da": "den det de en et han hun der to tre men i på vi jeg",
    "no": "den det de en et ei han hun der to tre men i på vi jeg",
    "sv": "den det de en ett han hon där två tre men i på vi jag",
    "fi": "hän se he ne kaksi kolme mutta me minä tämä",
    "hu": "az ő ez két három de mi én ők",
    "tr": "bu o bir iki üç ama biz ben onlar şu",
    "ru": "он она оно они это в на два две три но мы я вы его её их там потом",
    "uk": "він вона воно вони це в на два дві три але ми я ви його її їх там потім",
    "bg": "той тя то те това в на два две три но ние аз там после",
    "sr": "он она оно они то у на два две три али ми ја там потом",
    "hr": "on ona ono oni to u na dva dvije tri ali mi ja tamo zatim",
    "el": "ο η το οι τα ένας μια μία ένα αυτός αυτή αυτό δύο τρεις αλλά στο στη εμείς εγώ",
}
NO_ORDINALS = frozenset("en fr es it pt nl ro ca gl ru uk bg el ar fa ur he hi bn zh ja ko th vi id".split())
"""Languages where a full stop after a number does not make it an ordinal."""

Span = tuple[int, int]


class Rules(NamedTuple):
    """What depends on the language."""

    titles: frozenset[str]
    capital_titles: frozenset[str]
    before_numbers: frozenset[str]
    abbreviations: frozenset[str]
    starters: frozenset[str]
    ordinals: bool

    @classmethod
    @cache
    def of(cls, language: str | None) -> "Rules":
        """Returns the rules of a language by its code (`de`, `de-AT`); of all, for none or another one."""
        code = (language or "").lower().replace("_", "-").partition("-")[0]
        code = {"nb": "no", "nn": "no"}.get(code, code)

        def words(table: dict[str, str]) -> frozenset[str]:
            return frozenset((table[code] if code in table else " ".join(table.values())).split())

        return cls(
            frozenset(TITLES.split()),
            frozenset(CAPITAL_TITLES.split()),
            frozenset(BEFORE_NUMBERS.split()),
            words(ABBREVIATIONS),
            words(STARTERS),
            code not in NO_ORDINALS,
        )


_LINE = re.compile(f"[^{LINE_BREAKS}]+")
_LIST_ITEM = re.compile(rf"\s*+[{re.escape(LIST_MARKS)}]++\s++(?=\S)")
_INVISIBLE = INVISIBLE.pattern[1:-1]
_CLOSING = rf"[{re.escape(TERMINATORS + ENDS_ALWAYS + CLOSERS)}{_INVISIBLE}]*+"
_RUN = re.compile(
    rf"(?:[{re.escape(TERMINATORS + ENDS_ALWAYS)}]|(?<=[{GREEK}]){QUESTION_MARK}){_CLOSING}"
    rf"(?P<apart>\s+[{CLOSERS_APART}]{_CLOSING}(?=\s|\Z))?"
)
_NOT_FIRST = re.compile(rf"[\s{re.escape(BEFORE_SENTENCE)}{_INVISIBLE}]*+")
_WORDS = re.compile(rf"(?>(?:\w++|{COMBINING})+)")
_LAST_MARKS = re.compile(rf"[{re.escape(TERMINATORS + ENDS_ALWAYS + QUESTION_MARK)}]+")
_ORDINAL = re.compile(r"\d{1,2}|[IVX]+")
_ITEM = re.compile(r"\d+|[IVXivx]+")


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """Returns the sentences of a text; `language` is the code of its language, if it is known."""
    return [text[start:end] for start, end in sentence_spans(text, language)]


def sentence_spans(text: str, language: str | None = None) -> list[Span]:
    """Returns the (start, end) in the text of each sentence that `split_sentences` returns.

    Between the sentences are white space, and what has no letter or digit, such as a line of dashes. A text
    without letters and digits is one sentence, unless it is white space.
    """
    spans = [span for span in _all_spans(text, Rules.of(language)) if _WORDS.search(text, *span)]
    if not spans and (stripped := text.strip()):
        start = text.index(stripped)
        return [(start, start + len(stripped))]
    return spans


def is_one_sentence(text: str, spans: Sequence[Span]) -> bool:
    """Returns whether nothing but spaces surrounds the only span, if there is one."""
    outside = text[: spans[0][0]] + text[spans[0][1] :] if spans else ""
    return len(spans) < 2 and not outside.strip() and set(outside).isdisjoint(LINE_BREAKS)


def replace_sentences(text: str, spans: Sequence[Span], sentences: Sequence[str]) -> str:
    """Returns the text with other sentences at the spans; all between them is kept.

    Where nothing is between two, as in Chinese, a space is added, unless the first ends in such a script.
    """
    replaced, before, end = [], "", 0
    for (start, next_end), sentence in zip(spans, sentences, strict=True):
        between = text[end:start]
        if not between and before and before[-1] not in ENDS_ALWAYS:
            between = " "
        replaced += [between, sentence]
        before, end = sentence, next_end
    return "".join(replaced) + text[end:]


def _all_spans(text: str, rules: Rules) -> Iterator[Span]:
    all_small = text.lower() == text
    for line in _LINE.finditer(text):
        start, end = line.span()
        if item := _LIST_ITEM.match(text, start, end):
            start = item.end()
        for run in _RUN.finditer(text, start, end):
            if _is_end(text, start, end, run, rules, all_small):
                yield _strip(text, start, run.end())
                start = run.end()
        if text[start:end].strip():
            yield _strip(text, start, end)


def _strip(text: str, start: int, end: int) -> Span:
    while text[start].isspace():
        start += 1
    while text[end - 1].isspace():
        end -= 1
    return start, end


def _is_end(text: str, start: int, end: int, run: re.Match[str], rules: Rules, all_small: bool) -> bool:
    """Returns whether the sentence that began at `start` ends with this run of marks, not with its line."""
    after = run.end()
    if after == end:
        return False
    apart = run["apart"] is not None
    if not apart and not text[after].isspace() and text[after - 1] not in ENDS_ALWAYS:
        return _lacks_space(text, start, end, run)
    first = _NOT_FIRST.match(text, after, end).end()  # type: ignore[union-attr]  # it may match nothing
    if first == end or text[first] in TERMINATORS + ENDS_ALWAYS + CLOSERS:
        return False
    if is_small(text[first]) and not all_small and not _is_capital(text[first + 1 : first + 2]):  # iPhone
        return False
    *_, marks = _LAST_MARKS.finditer(text, run.start(), after)
    if set(marks[0]) - set(".…‥"):
        return True
    if marks[0] != ".":  # something is left out, unless the dots follow a word or a sentence begins
        follows_word = marks.start() > start and not text[marks.start() - 1].isspace()
        return follows_word or (not all_small and _starts(text, (first, end), rules))
    return _is_full_stop(text, start, marks.start(), (first, end), rules, all_small)


def _is_full_stop(text: str, start: int, stop: int, rest: Span, rules: Rules, all_small: bool) -> bool:
    """Returns whether the full stop at `stop` ends the sentence, rather than a number or an abbreviation."""
    if stop - start <= LONGEST_NUMBER and all(map(_is_item, _WORDS.findall(text, start, stop))):
        return False
    *_, found = None, *_WORDS.finditer(text, max(start, stop - LONGEST_WORD), stop)
    if found is None or found.end() < stop:
        return True
    last, lowered = found[0], "".join(map(str.lower, found[0]))
    if lowered in rules.titles:
        return False
    if not all_small and _starts(text, rest, rules):
        return True
    if lowered in rules.capital_titles and not is_small(last[0]):
        return False
    if text[rest[0]].isdecimal() and (lowered in rules.before_numbers or lowered.endswith(STREET)):
        return False
    return not (
        lowered in rules.abbreviations or _is_letter(last) or (rules.ordinals and _ORDINAL.fullmatch(last))
    )


def _lacks_space(text: str, start: int, end: int, run: re.Match[str]) -> bool:
    """Returns whether a sentence begins without a space: after two small letters, with one capital."""
    before, after = run.start(), run.end()
    return (
        before - 2 >= start
        and is_small(text[before - 1])
        and is_small(text[before - 2])
        and _is_capital(text[after])
        and after + 1 < end
        and (is_small(text[after + 1]) or text[after + 1].isspace())
    )


def _starts(text: str, rest: Span, rules: Rules) -> bool:
    """Returns whether the rest of a line begins with a word that often begins sentences."""
    word = _WORDS.match(text, rest[0], min(rest[1], rest[0] + LONGEST_WORD))
    if word is None or text[word.end() : word.end() + 1] == ".":  # it may be an initial
        return False
    return "".join(map(str.lower, word[0])) in rules.starters


def _is_capital(character: str) -> bool:
    return character.lower() != character


def _is_item(word: str) -> bool:
    """Returns whether a word may be the number of an item."""
    return _is_letter(word) or _ITEM.fullmatch(word) is not None


def _is_letter(word: str) -> bool:
    """Returns whether a word is one letter of an alphabet with capitals."""
    return len(word) == 1 and (word.lower() != word or is_small(word))


def is_small(character: str) -> bool:
    """Returns whether a letter is small, in an alphabet where capitals begin sentences: not in Georgian."""
    return character.islower() and character.upper() != character and not "\u10d0" <= character <= "\u10ff"


def describe_rules(language: str | None) -> dict[str, Any]:
    """Returns all that `engine/sentences.js` needs to know, ready for JSON."""
    rules = Rules.of(language)
    return {
        "terminators": TERMINATORS,
        "ends_always": ENDS_ALWAYS,
        "closers": CLOSERS,
        "closers_apart": CLOSERS_APART,
        "before_sentence": BEFORE_SENTENCE,
        "line_breaks": LINE_BREAKS,
        "list_marks": LIST_MARKS,
        "titles": sorted(rules.titles),
        "capital_titles": sorted(rules.capital_titles),
        "before_numbers": sorted(rules.before_numbers),
        "abbreviations": sorted(rules.abbreviations),
        "starters": sorted(rules.starters),
        "ordinals": rules.ordinals,
    }

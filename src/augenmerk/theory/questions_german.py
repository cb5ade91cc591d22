"""The questions and hints of the theory lab in German, for its pages; names and formulas stay as they are."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class GermanQuestion:
    title: str
    text: str
    names: Mapping[str, str]
    hints: tuple[str, ...]


_ATTENTION = "alpha_i = exp(q.k_i/sqrt(d)) / sum_j exp(q.k_j/sqrt(d)), a = sum_j alpha_j v_j."
_CHOSEN = {"c": "eine Zahl, so groß oder so klein man will (wie jeder Buchstabe, der hier nicht vorkommt)"}
_SIZES = {"d, m": "die Dimension und die Anzahl der Schlüssel"}
_NOISY = {
    "k_a, k_b": "die beiden Schlüssel, wie sie ausfallen",
    "mu_a, mu_b": "ihre Mittel, orthogonale Vektoren der Länge 1",
    "lambda_a, lambda_b": "die Längen der Schlüssel",
}
_BETA = {"beta": "die Varianz der Längen"}
_PARTS = {
    "u_a, u_b, u_c, u_d": "die Teile",
    "x_1, x_2, x_3": "die Eingaben",
    "B": "die Länge der Teile",
}

GERMAN: Mapping[str, GermanQuestion] = {
    "1.1": GermanQuestion(
        "Einen Wert kopieren",
        f"{_ATTENTION}\nWann gibt es eine Anfrage q mit a = v_j, so genau man will? Finde die Bedingung an "
        "die Schlüssel und eine Anfrage, die immer dann genügt, wenn sie erfüllt ist: für Schlüssel jeder "
        "Länge und in jeder Lage. Braucht deine Anfrage einen Punkt, der hier keinen Namen hat, so nennt "
        "ihn der dritte Hinweis.",
        {
            "k_j": "der Schlüssel, dessen Wert kopiert werden soll",
            "k_mean": "das Mittel der anderen Schlüssel",
            **_CHOSEN,
            **_SIZES,
        },
        (
            "Für a = v_j muss alpha_j fast 1 sein. Was muss dann für q.k_j und jedes andere q.k_i gelten, "
            "und was macht ein Faktor vor q mit ihren Differenzen?",
            "Die Differenzen k_j - k_i müssen alle ein positives Produkt mit q haben: Zeichne Schlüssel in "
            "die Ebene und suche eine Gerade, die k_j auf der einen Seite hat und alle anderen auf der "
            "anderen. Für welche Schlüssel gibt es keine?",
            "k_j selbst ist eine solche Richtung, wenn alle Schlüssel gleich lang sind, aber nicht, wenn "
            "hinter k_j ein längerer liegt. Es kommt auf die Gestalt aller anderen zusammen an, ihre "
            "konvexe Hülle. In einer Antwort heißt ihr Punkt, der k_j am nächsten ist, h_j.",
            "Die Gerade mit dem größten Abstand steht senkrecht auf dem kürzesten Weg von der Hülle der "
            "anderen zu k_j.",
        ),
    ),
    "1.2": GermanQuestion(
        "Zwei Werte mitteln",
        f"{_ATTENTION}\nDie Schlüssel sind orthogonal und haben die Länge 1. Finde eine Anfrage mit a = "
        "(v_a + v_b)/2, so genau man will, für jede Anzahl m von Schlüsseln und jede Dimension d.",
        {"k_a, k_b": "die beiden Schlüssel (mu_a und mu_b sind hier dasselbe)", **_CHOSEN, **_SIZES},
        (
            "Welche zwei Gewichte müssen 1/2 sein, und wie groß müssen die anderen sein? Was heißt das für "
            "die Produkte q.k_i?",
            "Zwei Produkte müssen gleich sein und über allen anderen liegen. Welcher Vektor hat mit k_a "
            "dasselbe Produkt wie mit k_b, und 0 mit jedem Schlüssel, der auf beiden senkrecht steht?",
            "Stimmt die Richtung, dann sieh auf die Größe: m - 2 andere Schlüssel haben je e^0 = 1. Wie "
            "groß müssen die beiden Produkte sein, damit die anderen nicht zählen, so viele es auch sind?",
        ),
    ),
    "1.3": GermanQuestion(
        "Derselbe Durchschnitt, von Schlüsseln zufälliger Länge",
        f"{_ATTENTION}\nNun ist k_i = lambda_i mu_i mit lambda_i ~ N(1, beta); die mu_i sind orthogonal "
        "und haben die Länge 1. Du nimmst deine Anfrage aus 1.2 noch einmal, einmal mit den mu und einmal "
        "mit den k. Wie sieht `a` in einer einzelnen Stichprobe aus, und wie im Mittel über viele? Geprüft "
        "wird: eine Anfrage mit a = (v_a + v_b)/2 in jeder Stichprobe mit positiven lambda; sie darf die "
        "Schlüssel ansehen.",
        {**_NOISY, **_BETA, **_CHOSEN, **_SIZES},
        (
            "Schreib q.k_a und q.k_b für q = c(mu_a + mu_b) hin. Um wie viel unterscheiden sie sich?",
            "alpha_a/alpha_b = exp(q.k_a/sqrt(d) - q.k_b/sqrt(d)): Dasselbe große c, das die anderen "
            "Schlüssel ausschließt, vervielfacht auch diesen Unterschied.",
            "Damit es in jeder Stichprobe aufgeht, muss q.k_a = q.k_b gelten, wie lang die Schlüssel auch "
            "sind: Ein längerer Schlüssel braucht einen kleineren Anteil an q.",
        ),
    ),
    "1.4": GermanQuestion(
        "Zwei Köpfe",
        f"{_ATTENTION}\nDie Schlüssel sind die aus 1.3, aber nun geben zwei Anfragen q_1 und q_2 zwei "
        "Ausgaben, und das Ergebnis ist ihr Mittel, (a_1 + a_2)/2. Finde zwei Anfragen, mit denen es in "
        "jeder Stichprobe mit positiven lambda (v_a + v_b)/2 ist.",
        {**_NOISY, **_BETA, **_CHOSEN, **_SIZES},
        (
            "Eine Anfrage scheiterte, weil sie ein Gleichgewicht halten musste. Welche Aufgabe braucht "
            "keines, wie lang die Schlüssel auch sind?",
            "Das Mittel zweier Ausgaben ist schon je zur Hälfte jede von ihnen. Was sollte jede sein?",
            "Jeder Kopf muss nur einen Wert kopieren, wie in 1.1, und eine positive Länge ändert nicht, "
            "welcher Schlüssel gewinnt.",
        ),
    ),
    "1.5": GermanQuestion(
        "Rauschen längs eines Schlüssels",
        f"{_ATTENTION}\nNun ist k_a ~ N(mu_a, alpha I + (1/2) mu_a mu_a^T), und die anderen Schlüssel "
        "haben die Kovarianz alpha I mit einem winzigen alpha; die mu_i sind orthogonal und haben die "
        "Länge 1. Was macht die Anfrage aus 1.2 von Stichprobe zu Stichprobe, und was machen die beiden "
        "aus 1.4? Geprüft wird: eine Anfrage oder zwei, mit denen die Ausgabe in jeder Stichprobe mit "
        "positivem mu_a.k_a (v_a + v_b)/2 ist.",
        {
            "k_a, k_b": "die beiden Schlüssel, wie sie ausfallen",
            "mu_a, mu_b": "ihre Mittel, orthogonale Vektoren der Länge 1",
            "alpha": "die winzige Varianz",
            **_CHOSEN,
            **_SIZES,
        },
        (
            "In welcher Richtung schwankt k_a merklich? Was macht das mit seiner Länge?",
            "Es ist wieder 1.3, mit Rauschen in nur einem Schlüssel: Wenn k_a lang ausfällt, wer gewinnt?",
            "Was 1.3 in 1.4 geheilt hat, hängt nicht davon ab, wo das Rauschen ist.",
        ),
    ),
    "1.6": GermanQuestion(
        "Selbstaufmerksamkeit ohne Projektionen",
        "Drei Eingaben, x_1 = u_d + u_b, x_2 = u_a, x_3 = u_c + u_b, bestehen aus orthogonalen Teilen "
        "einer großen Länge B. Anfragen, Schlüssel und Werte sind die Eingaben selbst, und es gibt kein "
        "1/sqrt(d). Was ist die zweite Ausgabe, c_2? Könnte sie u_b werden, wenn u_d oder u_c zu x_2 "
        "addiert würde?",
        _PARTS,
        (
            "Schreib die drei Produkte von x_2 mit x_1, x_2 und x_3 hin, in Einheiten von B^2.",
            "B ist groß, also bekommt das größte Produkt das ganze Gewicht. Welches ist es?",
            "Mit u_d dazu wird x_2.x_1 zu B^2. Was wird aus x_2.x_2? Und liegt u_b irgendwo zwischen den "
            "Eingaben?",
        ),
    ),
    "1.7": GermanQuestion(
        "Selbstaufmerksamkeit mit K, Q und V",
        "Die Eingaben sind die aus 1.6, und es gibt kein 1/sqrt(d), aber nun ist k_i = K x_i, q_i = Q x_i "
        "und v_i = V x_i. Finde Matrizen K, Q und V mit c_2 = u_b und c_1 = u_b - u_c, so genau man will "
        "für großes B.",
        {**_PARTS, "I": "die Einheitsmatrix"},
        (
            "Beginne mit den Werten: u u^T/B^2 behält den Teil u einer Eingabe und entfernt die anderen. "
            "Welches V macht aus einer Eingabe u_b und aus einer anderen u_b - u_c?",
            "Dann muss x_2 die eine beachten und x_1 die andere. Lass die Schlüssel, wie sie sind, K = I.",
            "(w u^T)/B^2 macht aus einem Teil u ein w. Welchen Teil hat jede der Eingaben, die beachtet "
            "werden sollen, für sich allein, und was muss Q aus x_2 machen und was aus x_1?",
        ),
    ),
}
"""Questions that have pages, by task."""

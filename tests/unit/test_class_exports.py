# ruff: noqa: E501
"""Tables as Moodle, Canvas and Google Forms export them: students and answers are found."""

import re
from pathlib import Path

import pytest

from augenmerk.base.errors import AugenmerkError
from augenmerk.theory.classroom import read_answer_sheet
from augenmerk.theory.columns import choose_columns
from augenmerk.theory.exercises import choose_variants

MOODLE = """"Last name","First name","Email address",Status,Started,Completed,Duration,Grade/2.00,"Question 1",\
"Response 1","Question 2","Response 2","Right answer 2"
Lovelace,Ada,ada@example.org,Finished,"3 May 2026 10:00","3 May 2026 10:20","20 mins",-,"1.2 Averaging two values.
Find a query with a = (v_a + v_b)/2.","c(k_a + k_b)","1.4 Two heads. The keys are those of 1.3.","c mu_a; c mu_b",x
Babbage,Ben,ben@example.org,Finished,"3 May 2026 10:01","3 May 2026 10:20","19 mins",-,"1.2 Averaging two values.
Find a query with a = (v_a + v_b)/2.",-,"1.4 Two heads. The keys are those of 1.3.","<p>c&nbsp;mu_a; c mu_a</p>",x
"Overall average",,,,,,,-,,,,,
"""
MOODLE_DE = """Nachname,Vorname,E-Mail-Adresse,Status,"Begonnen am",Beendet,"Verbrauchte Zeit","Bewertung/2,00",\
"Frage 1","Antwort 1","Frage 2","Antwort 2"
Lovelace,Ada,ada@example.org,Beendet,"3. Mai 2026 10:00","3. Mai 2026 10:20","20 Minuten",-,\
"Aufgabe 1.2: Zwei Werte mitteln","c(k_a + k_b)","Aufgabe 1.4: Zwei Köpfe, Schlüssel wie in 1.3","c mu_a; c mu_b"
Babbage,Ben,ben@example.org,Beendet,"3. Mai 2026 10:01","3. Mai 2026 10:20","19 Minuten",-,\
"Aufgabe 1.2: Zwei Werte mitteln",-,"Aufgabe 1.4: Zwei Köpfe, Schlüssel wie in 1.3","c mu_a; c mu_a"
Gesamtdurchschnitt,,,,,,,-,-,-,-,-
"""
CANVAS = """name,id,sis_id,section,section_id,section_sis_id,submitted,attempt,"48211: 1.2 Averaging two values. \
Find a query",1.5,"48212: 1.4 Two heads: the keys are those of 1.3",1.5,n correct,n incorrect,score
Ada Lovelace,901,a1,NLP,77,,2026-05-03 10:20:00 UTC,1,c(k_a + k_b),0.0,c mu_a; c mu_b,0.0,0,2,0.0
Ben Babbage,902,b1,NLP,77,,2026-05-03 10:21:00 UTC,1,,0.0,c mu_a; c mu_a,0.0,0,2,0.0
"""
GOOGLE = """Timestamp,Full name,Total score,1.2 Averaging two values,1.2 Averaging two values [Score],\
1.2 Averaging two values [Feedback],"1.4 Two heads, keys of 1.3"
2026/05/03 10:20:00 AM GMT+2,Ada Lovelace,0.00 / 2,c(k_a + k_b),0.00 / 1,,c mu_a; c mu_b
2026/05/03 10:21:00 AM GMT+2,Ben Babbage,0.00 / 2,,-- / 1,,c mu_a; c mu_a
"""
GOOGLE_DE = """Zeitstempel,Nutzername,Aufgabe 1.2,Frage 1.4 (zwei Köpfe)
03.05.2026 10:20:00,Ada Lovelace,c(k_a + k_b),c mu_a; c mu_b
03.05.2026 10:21:00,Ben Babbage,,c mu_a; c mu_a
"""
ROWS = [
    *(("Ada Lovelace", "1.2", "c(k_a + k_b)"), ("Ada Lovelace", "1.4", "c mu_a; c mu_b")),
    *(("Ben Babbage", "1.2", ""), ("Ben Babbage", "1.4", "c mu_a; c mu_a")),
]


def write(folder: Path, text: str) -> Path:
    path = folder / "export.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("export", [MOODLE, MOODLE_DE, CANVAS, GOOGLE, GOOGLE_DE])
def test_columns_of_an_export_are_found(tmp_path: Path, export: str) -> None:
    sheet = read_answer_sheet(write(tmp_path, export))
    assert [(row.student, row.task, row.answers.replace("\xa0", " ")) for row in sheet.rows] == ROWS
    assert sheet.columns.count("student") == 1


def test_responses_without_their_questions_need_an_option(tmp_path: Path) -> None:
    path = write(tmp_path, "First name,Surname,Response 1,Response 2\nAda,Lovelace,c(k_a + k_b),c mu_a\n")
    with pytest.raises(AugenmerkError, match=re.escape("--column '1.2=Response 1'")):
        read_answer_sheet(path)
    chosen = choose_columns(["1.2=Response 1", "1.4 = response 2"])
    rows = read_answer_sheet(path, columns=chosen, variants=choose_variants(["1.4=means"])).rows
    assert [(row.student, row.task) for row in rows] == [
        ("Ada Lovelace", "1.2"),
        ("Ada Lovelace", "1.4-means"),
    ]
    with pytest.raises(AugenmerkError, match="no such column; the columns are 'First name'"):
        read_answer_sheet(path, columns={"1.2": "Response 3"})
    with pytest.raises(AugenmerkError, match="write a task and a heading"):
        choose_columns(["Response 1"])


def test_a_table_without_known_students_needs_an_option(tmp_path: Path) -> None:
    path = write(tmp_path, "Timestamp,Matrikel,1.2\nx,4711,c k_a\n")
    with pytest.raises(AugenmerkError, match=r"one with the students .--student-column HEADING"):
        read_answer_sheet(path)
    assert [row.student for row in read_answer_sheet(path, "matrikel").rows] == ["4711"]


def test_the_table_may_name_a_variant(tmp_path: Path) -> None:
    table = "student,1.1 one length,Aufgabe 1.3 (Observation),1.4 by all means\nAda,c k_j,x,y\n"
    rows = read_answer_sheet(write(tmp_path, table)).rows
    assert [row.task for row in rows] == ["1.1-one-length", "1.3-observation", "1.4"]
    table = "student,task,answers\nAda,1.3-observation,x\nAda,1.3,y\nAda,Task 1.4 means,z\n"
    rows = read_answer_sheet(write(tmp_path, table), variants={"1.3": "1.3-observation"}).rows
    assert [row.task for row in rows] == ["1.3-observation", "1.3-observation", "1.4-means"]

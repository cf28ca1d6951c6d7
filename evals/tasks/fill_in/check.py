"""Templates are filled once, from left to right, with every rule kept together."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from evals.checking import Raises, Submission, judge


def check(work: Submission) -> None:
    work.given_files_kept()
    work.answers(
        "from fill import fill",
        {
            "fill('', {})": "",
            "fill('{{a}}{{b}}{{a}}', {'a': 1, 'b': 2})": "121",
            "fill('{{{{{{ a }}', {'a': 'z'})": "{{z",
            "fill('{{ a|upper|lower }}', {'a': 'Mix'})": "mix",
            "fill('{{ a }} {{ b }}', {'a': '{{ b }}', 'b': '{{{{'})": "{{ b }} {{{{",
            "fill('x {{ a }} {{ b', {'a': 1, 'b': 2})": Raises("ValueError"),
            "fill('{{ a|upper|nope }}', {'a': 1})": Raises("ValueError"),
            "fill('{{ n|upper }}', {'n': None})": "NONE",
            "fill('{{ a|trim }}|', {'a': '  q '})": "q|",
            "fill('{{ missing|upper }}', {})": Raises("KeyError"),
            "fill('{{{{', {})": "{{",
        },
    )


if __name__ == "__main__":
    judge(__file__, check)

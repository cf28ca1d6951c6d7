"""Every fault by its name."""

import re

from faults import faulty_models as models
from faults import faulty_tools as tools
from faults.scenario import Scenario

SCENARIOS: list[type[Scenario]] = [
    tools.TimesOutTwice,
    tools.WrongParameter,
    tools.DownWithAlternative,
    tools.AlwaysDown,
    tools.NotCriticalAndDown,
    tools.MissingUpstream,
    tools.LiesOnce,
    tools.LiesForEver,
    tools.KilledHalfWay,
    tools.FlakyCheck,
    *tools.ODD_SCENARIOS,
    models.GarbageTwice,
    models.GarbageFiveTimes,
    models.GarbageForEver,
    models.ClaimsDone,
    models.ClaimsDoneForEver,
    models.WrongFile,
    models.DownTwice,
    models.DownInTheMiddle,
    models.DownForEver,
    models.SameWrongForEver,
    models.TwoWrongByTurns,
    models.AlwaysWrongAnew,
    models.RightInTheEnd,
    models.WrongPlanCheck,
    models.WrongPlanCheckBesideAGoodOne,
]


def name_of(scenario: type[Scenario]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", scenario.__name__).lower()


BY_NAME = {name_of(scenario): scenario for scenario in SCENARIOS}

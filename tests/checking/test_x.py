import pytest, yaml
from tests.checking.judged_cases import *
from tests.conftest import tables
rows=[]
for sub in ("judging","naming","marking","roundings","other_forms"):
    for name, t in tables(sub).items():
        if name in ("problems","written_digits","FAULTS"): continue
        rows += [pytest.param(r, id=f"{sub}-{name}-{r['id']}") for r in t]
@pytest.mark.parametrize("case", rows)
def test_case(case): assert_judged(case)

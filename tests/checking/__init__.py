import pytest

pytest.register_assert_rewrite("tests.checking.judged_cases")

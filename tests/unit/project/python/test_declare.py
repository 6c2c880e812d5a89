"""The decorators themselves."""

import subprocess
import sys

from penstock.project.python.declare import SHAPES
from penstock.project.python.sections import SECTIONS

WITHOUT_SPARK = """
import sys, time
began = time.process_time()
import penstock
from penstock import incremental_table, model, source, table

@source
def raw_logs(spark): ...

@incremental_table(time_column="ts")
def events(raw_logs): ...

took = time.process_time() - began
print("pyspark" in sys.modules, "pydantic" in sys.modules, took < 0.1 or took)
"""


def test_the_decorators_cost_nothing_to_import():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK], capture_output=True, text=True, check=False
    )

    assert done.stdout == "False False True\n", done.stderr


def test_type_hints_name_the_options_that_sections_declare():
    hinted = {kind: sorted(shape.__annotations__) for kind, shape in SHAPES.items()}

    assert hinted == {kind: sorted(each.declared) for kind, each in SECTIONS.items()}

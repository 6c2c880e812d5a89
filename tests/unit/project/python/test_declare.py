"""The decorators themselves."""

import subprocess
import sys

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

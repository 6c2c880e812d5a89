import pytest

from fakes.python_files import PythonFiles


@pytest.fixture
def files(tmp_path):
    return PythonFiles(tmp_path)

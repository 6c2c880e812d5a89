"""Files to a `Project`: settings, SQL models, sources, seeds, selectors, fingerprints, findings.

Loading reads files and the environment it is given. It never touches the warehouse or the state,
and writes nothing but its parse cache. With a warm cache it imports no parser.
"""

from penstock.project.first_pass import parse_user_query
from penstock.project.load import load_project
from penstock.project.selectors import Known, select

__all__ = ["Known", "load_project", "parse_user_query", "select"]

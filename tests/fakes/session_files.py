"""Session files as tests write them: package `web` over the source `raw.events`."""

EVENTS = """\
event_id string
collector_tstamp timestamp
derived_tstamp timestamp
dvce_created_tstamp timestamp
dvce_sent_tstamp timestamp
etl_tstamp timestamp
collector_date date
app_id string
event_name string
domain_sessionid string
domain_userid string
user_id string
page_view_id string
page_url string
page_title string
useragent string
mkt_source string
geo_country string
contexts_login array<struct<user:string>>
"""
PATH = "sessions/web.yml"
HEAD = "strategy: sessions\nname: web\nevents: raw.events\n"
SPEC = """\
strategy: sessions
name: web
schema: derived
events: raw.events
timestamp: collector_tstamp
session_id: [domain_sessionid]
user_id: ["contexts_login[0].user", domain_userid]
start_date: 2021-01-01
partition_column: collector_date
app_ids: [shop, null]
filters: ["useragent is not null"]
modules: [page_views, sessions, users]
passthrough:
  page_views: [page_title]
  sessions:
    first: [mkt_source]
    last: [geo_country]
    agg: {purchases: "count_if(event_name = 'purchase')"}
  users: {first: [mkt_source]}
"""


def source(columns=EVENTS):
    """Give the source file; without columns nothing is known of the table."""
    listed = [line.partition(" ") for line in columns.splitlines()]
    typed = "".join(f"          - {{name: {n}, type: '{kind}'}}\n" for n, _, kind in listed)
    said = f"        columns:\n{typed}" if typed else ""
    return f"sources:\n  - name: raw\n    tables:\n      - name: events\n{said}"


def files(text="", *, head=HEAD, columns=EVENTS, **more):
    """Give the files of a project with one package, whose own keys begin on line 4."""
    return {PATH: head + text, "models/sources.yml": source(columns), **more}

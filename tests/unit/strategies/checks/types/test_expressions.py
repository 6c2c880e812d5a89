from penstock.core.checks.check import Condition
from penstock.core.columns.schema import Column, Schema
from penstock.core.names import InputKind, InputName
from penstock.strategies.checks.measure import Restriction
from penstock.strategies.checks.types.expressions import ColumnCheck, Relationships
from unit.strategies.checks.types.judged import Keys, measured, said

COUNTRIES = InputName(InputKind.MODEL, "countries")
TO = Relationships(("c", "d"), COUNTRIES, ("code", "day"), "countries")


def of_group(*aggregates):
    text = " AND ".join(f"{each} > 0" for each in aggregates)
    return ColumnCheck("n", Condition(text, tuple(aggregates)))


def test_a_condition_of_rows_counts_those_of_which_it_is_not_true():
    rule = ColumnCheck("n", Condition("`n` > 0", ()))

    assert measured(rule)["failures"] == (
        "count(CASE WHEN (w) AND (NOT coalesce((`n` > 0), false)) THEN 1 END)"
    )
    assert said(rule, {}) == "every row meets the condition (0)"
    assert said(rule, {"failures": "1"}) == "failed: 1 row breaks the condition (1)"
    assert said(rule, {"failures": "2"}) == "failed: 2 rows break the condition (2)"


def test_a_condition_of_a_group_shows_its_aggregates_where_it_does_not_hold():
    rule = of_group("min(`n`)", "max(`a b`)")

    assert said(rule, {"condition": "true"}) == "condition is true (None)"
    values = {"condition": "false", "min(n)": "0", "max(`a b`)": None}
    assert said(rule, values) == (
        "failed: condition is false [min(n) = 0, max(`a b`) = NULL] (None)"
    )
    assert said(rule, {**values, "condition": None}).startswith(
        "failed: condition is NULL (no rows?) ["
    )


def test_without_samples_only_aggregates_that_are_figures_are_shown():
    rule = of_group("min(`n`)", "first(`n`)")

    assert [*measured(rule, Restriction("", sample=False))] == ["rows", "condition", "min(n)"]
    assert [*measured(rule)] == ["rows", "condition", "min(n)", "first(n)"]


def test_a_partner_is_looked_up_by_all_columns_and_null_is_nobodys():
    assert measured(TO)["failures"] == (
        "count(CASE WHEN (w) AND (`c` IS NOT NULL AND `d` IS NOT NULL "
        "AND NOT __penstock_found) THEN 1 END)"
    )
    assert said(TO, {}) == "every row has a partner (0)"
    assert said(TO, {"failures": "1"}) == (
        "failed: 1 row without a partner in countries (code, day) (1)"
    )
    found = TO.lookup({COUNTRIES: "seen"})
    assert found.fields == "SELECT `code`, `day` FROM `seen`"
    assert found.rows("select 1") == (
        "SELECT __penstock_own.*, EXISTS (SELECT 1 FROM `seen` AS __penstock_others WHERE "
        "__penstock_others.`code` = __penstock_own.`c` "
        "AND __penstock_others.`day` = __penstock_own.`d`) AS __penstock_found "
        "FROM (\nselect 1\n) AS __penstock_own"
    )


def test_texts_and_numbers_are_not_compared():
    misfit = TO.lookup({COUNTRIES: "seen"}).misfit
    fields = Schema((Column("code", "string"), Column("day", "date")))

    def own(c, d="date"):
        return Schema((Column("c", c), Column("d", d)))

    assert misfit(own("varchar(3)"), fields) == ""
    assert misfit(own("int"), fields) == 'column "c": INT with STRING is not compared'
    assert misfit(own("string", "string"), fields) == (
        'column "d": STRING with DATE is not compared'
    )
    assert misfit(Schema((Column("c", "string"),)), fields) == ""


def test_a_foreign_key_has_as_many_columns_as_the_other_side():
    keys = Keys()
    pairs = [((), ("a",)), (("a",), ()), (("a",), ("b",)), (("a", "b"), ("c",))]

    for columns, fields in pairs:
        Relationships.settle(keys, {"columns": columns, "fields": fields})

    assert keys.codes == ["fields: as many columns as columns, which are 2"]

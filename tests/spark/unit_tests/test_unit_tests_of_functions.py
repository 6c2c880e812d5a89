"""Unit tests of models that are functions."""

PIPELINE = """\
    from penstock import incremental_table, model

    @model
    def clean(users):
        return users.where("email is not null")

    @incremental_table(time_column="updated_at", unique_key="id", schema="marts")
    def newest(clean):
        return clean.selectExpr("cast(id as int) as id", "email", "updated_at")
    """
TESTS = """\
    unit_tests:
      - name: the_newest_row_stays
        model: newest
        given:
          inputs:
            clean:
              rows:
                - {id: 1, email: new@x, updated_at: "2024-06-01 10:00:00"}
                - {id: 1, email: newer@x, updated_at: "2024-06-01 11:00:00"}
                - {id: 3, email: late@x, updated_at: "2024-05-01 00:00:00"}
              columns: {id: BIGINT, updated_at: TIMESTAMP}
          target:
            rows:
              - {id: 1, email: old@x, updated_at: "2024-05-31 00:00:00"}
              - {id: 2, updated_at: "2024-05-02 00:00:00"}
          state: {watermark: "2024-05-31 00:00:00"}
        expect:
          rows:
            - {id: 1, email: newer@x, updated_at: "2024-06-01 11:00:00"}
            - {id: 2, email: null, updated_at: "2024-05-02 00:00:00"}
          metrics: {inserted: 0, updated: 1}
          watermark: "2024-06-01 11:00:00"
    """


def test_an_incremental_table_of_python_is_tested_as_any_model(project) -> None:
    project.place.write("models/marts/pipeline.py", PIPELINE)

    assert project.told(TESTS) == [()]
    assert not (project.root / "warehouse").exists()

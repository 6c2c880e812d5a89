import { useMemo } from "preact/hooks";
import type { ModelRow, ProjectDocument } from "../data/documents";
import { modelState, statesText } from "../data/project";
import { Choice } from "../parts/Choice";
import { bytes, counted, number, seconds } from "../parts/numbers";
import { type Column, numberColumn, Rows, textColumn } from "../parts/Rows";
import { State } from "../parts/State";
import { stateLook, urgency } from "../parts/states";
import { Time } from "../parts/Time";
import { address } from "../shell/route";
import type { ListProps } from "../shell/router";
import { choices, FILTERS, type Filter, filterModels } from "./models";

/** All models as a table, filtered and sorted by what the address says. */
export function ModelsPage({ project, router }: ListProps) {
  const { query } = router.route;
  const text = query.toString();
  const models = useMemo(() => filterModels(project, new URLSearchParams(text)), [project, text]);
  const columns = useMemo(() => modelColumns(project), [project]);
  return (
    <>
      <h1>Models</h1>
      <search class="filters">
        <label>
          Filter
          <input
            type="search"
            value={query.get("find") ?? ""}
            placeholder="name, tag or owner"
            onInput={(event) => router.replace({ find: event.currentTarget.value })}
          />
        </label>
        {FILTERS.map((filter) => (
          <FilterChoice key={filter} filter={filter} project={project} router={router} />
        ))}
        <span role="status">{countText(models.length, project.models.length)}</span>
      </search>
      <Rows
        name="Models"
        rows={models}
        columns={columns}
        id={(model) => model.name}
        sort={query.get("sort") ?? "name"}
        sortBy={(next) => router.go({ sort: next })}
      />
    </>
  );
}

function FilterChoice({ filter, project, router }: ListProps & { readonly filter: Filter }) {
  const values = useMemo(() => choices(project, filter), [project, filter]);
  const chosen = router.route.query.get(filter) ?? "";
  if (values.length < 2 && !chosen) return null;
  const title = `${filter.charAt(0).toUpperCase()}${filter.slice(1)}`;
  return (
    <Choice
      title={title}
      none="all"
      values={values}
      words={(value) => (filter === "state" ? stateLook(value).words : value)}
      chosen={chosen}
      choose={(value) => router.go({ [filter]: value })}
    />
  );
}

function countText(shown: number, all: number): string {
  return shown === all ? counted(all, "model") : `${number(shown)} of ${counted(all, "model")}`;
}

/** Return the columns of the table of models. */
export function modelColumns(project: ProjectDocument): readonly Column<ModelRow>[] {
  return [
    { id: "name", title: "Name", width: 240, key: ({ name }) => name, cell: nameCell },
    textColumn("kind", "Kind", 88, ({ kind }) => kind),
    textColumn("schema", "Schema", 96, ({ schema }) => schema),
    {
      id: "state",
      title: "State",
      width: 178,
      key: (model) => urgency(modelState(project, model)),
      cell: (model) => (
        <span title={statesText(project, model)}>
          <State name={modelState(project, model)} />
        </span>
      ),
    },
    {
      id: "current",
      title: "Current",
      width: 112,
      isNumber: true,
      key: ({ current, partitions }) => (partitions ? current / partitions : null),
      cell: ({ current, partitions }) => `${number(current)} of ${number(partitions)}`,
    },
    numberColumn("rows", "Rows", 84, ({ rows }) => rows),
    numberColumn("bytes", "Size", 80, (model) => model.bytes, bytes),
    {
      id: "built_at",
      title: "Last built",
      width: 122,
      key: (model) => model.built_at || null,
      cell: (model) => <Time at={model.built_at} isRelative />,
    },
    numberColumn("seconds", "Took", 96, (model) => model.seconds, seconds),
    textColumn("tags", "Tags", 80, ({ tags }) => tags.join(", ")),
    textColumn("owner", "Owner", 70, ({ owner }) => owner),
  ];
}

function nameCell({ name }: ModelRow) {
  return (
    <a href={address("model", name)} title={name}>
      {name}
    </a>
  );
}

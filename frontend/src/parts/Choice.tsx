interface ChoiceProps {
  readonly title: string;
  readonly values: readonly string[];
  readonly chosen: string;
  readonly choose: (value: string) => void;
  /** The text of the choice of nothing; without it something is always chosen. */
  readonly none?: string;
  readonly words?: (value: string) => string;
}

/** One of several values; a chosen one that is not among them stays visible. */
export function Choice({ title, values, chosen, choose, none, words = String }: ChoiceProps) {
  const all = chosen && !values.includes(chosen) ? [chosen, ...values] : values;
  return (
    <label>
      {title}
      <select value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {none ? <option value="">{none}</option> : null}
        {all.map((value) => (
          <option key={value} value={value}>
            {words(value)}
          </option>
        ))}
      </select>
    </label>
  );
}

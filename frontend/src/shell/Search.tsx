import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ProjectDocument } from "../data/documents";
import { useAwaited, useChunk } from "../data/use";
import { type Answer, findNames, findTexts, indexTexts } from "./find";
import "./search.css";

/** Search over models, columns, tags, descriptions and code, which answers while you type. */
export function Search({ project, close }: { project: ProjectDocument; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [wanted, setWanted] = useState("");
  const [place, setPlace] = useState(0);
  const { answers, state } = useAnswers(project, wanted);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const open = (answer: Answer | undefined) => follow(answer, close);
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setPlace((place + step + answers.length) % Math.max(1, answers.length));
    else if (event.key === "Enter") open(answers[place]);
    else return;
    event.preventDefault();
  };
  const type = (event: Event) => {
    setWanted((event.target as HTMLInputElement).value);
    setPlace(0);
  };
  return (
    <dialog ref={dialog} class="search" aria-label="Search" onClose={close}>
      <input
        type="search"
        role="combobox"
        aria-label="Search models, columns, tags, descriptions and code"
        aria-expanded={answers.length > 0}
        aria-controls="answers"
        aria-activedescendant={answers.length ? `answer-${place}` : ""}
        placeholder="Models, columns, tags, descriptions, code"
        value={wanted}
        onInput={type}
        onKeyDown={press}
      />
      <p role="status" class="quiet">
        {wanted ? `${answers.length} found. ${state}` : "Type to search. Esc closes."}
      </p>
      <Answers answers={answers} place={place} open={open} />
    </dialog>
  );
}

function follow(answer: Answer | undefined, close: () => void): void {
  if (!answer?.href) return;
  close();
  location.hash = answer.href;
}

interface AnswersProps {
  readonly answers: readonly Answer[];
  readonly place: number;
  readonly open: (answer: Answer) => void;
}

function Answers({ answers, place, open }: AnswersProps) {
  useEffect(() => {
    document.getElementById(`answer-${place}`)?.scrollIntoView({ block: "nearest" });
  }, [place]);
  return (
    <div role="listbox" id="answers" aria-label="Answers" tabIndex={-1}>
      {answers.map((each, n) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard in the field
        <div
          key={`${each.found.node} ${each.found.part} ${each.found.name}`}
          role="option"
          id={`answer-${n}`}
          aria-selected={n === place}
          tabIndex={-1}
          onClick={() => open(each)}
        >
          <span class="part">{each.found.part}</span> <strong>{each.found.name}</strong>
          {each.found.name === each.found.node ? null : <span> in {each.found.node}</span>}
          <div class="quiet">
            {each.pieces.map((text, at) => (at % 2 ? <mark key={at}>{text}</mark> : text))}
          </div>
        </div>
      ))}
    </div>
  );
}

interface Answered {
  readonly answers: readonly Answer[];
  readonly state: string;
}

function useAnswers(project: ProjectDocument, wanted: string): Answered {
  const { chunk, error } = useChunk("search");
  const { chunk: index } = useAwaited(() => (chunk ? indexTexts(chunk.texts) : null), [chunk]);
  if (!wanted.trim()) return { answers: [], state: "" };
  if (chunk && index) return { answers: findTexts(index, chunk.texts, wanted, project), state: "" };
  const state = error ? `Names only: ${error}.` : "Names only, while the index is made.";
  return { answers: findNames(project, wanted), state };
}

import type {
  ModelDocument,
  PartitionsDocument,
  ProjectDocument,
  RunsDocument,
  SearchDocument,
} from "./documents";
import { FORMAT } from "./documents";

/** The documents of the site, by the names of their files. */
interface Documents {
  readonly project: ProjectDocument;
  readonly search: SearchDocument;
  readonly [model: `model-${number}`]: ModelDocument;
  readonly [partitions: `partitions-${number}`]: PartitionsDocument;
  readonly [runs: `runs-${number}`]: RunsDocument;
}

export type ChunkName = keyof Documents;
export type ChunkOf<Name extends ChunkName> = Documents[Name];

/** Loads a script; `failed` is called if it cannot be loaded or defines nothing. */
export type AddScript = (address: string, failed: () => void) => void;

interface Waiting {
  readonly resolve: (chunk: never) => void;
  readonly reject: (reason: Error) => void;
}

/** The chunks that pages asked for. Each is loaded once, until `reload` names it. */
export class Chunks {
  private readonly asked = new Map<string, Promise<unknown>>();
  private readonly running = new Map<string, Promise<unknown>>();
  private readonly waiting = new Map<string, Waiting>();
  private readonly reloads = new Map<string, number>();
  private readonly followers = new Set<(names: readonly string[]) => void>();

  constructor(
    private readonly folder: () => string,
    private readonly addScript: AddScript,
  ) {}

  /** Return the chunk; rejects if its file is missing, damaged or of another format. */
  load<Name extends ChunkName>(name: Name): Promise<ChunkOf<Name>> {
    const before = this.asked.get(name);
    if (before) return before as Promise<ChunkOf<Name>>;
    const chunk = this.afterRunning(name);
    this.asked.set(name, chunk);
    chunk.catch(() => this.asked.get(name) === chunk && this.asked.delete(name));
    return chunk as Promise<ChunkOf<Name>>;
  }

  /** Take what a chunk's script passed to `penstockData`. */
  receive(name: string, chunk: { readonly format?: number }): void {
    const { resolve, reject } = this.waiting.get(name) ?? {};
    this.waiting.delete(name);
    if (name === "project" && chunk.format !== FORMAT) {
      reject?.(new Error(otherFormat(this.file(name), chunk.format)));
    } else {
      resolve?.(unpacked(chunk) as never);
    }
  }

  /** Forget these chunks, and tell followers, which load again what they show. */
  reload(names: readonly string[]): void {
    for (const name of names) {
      this.asked.delete(name);
      this.reloads.set(name, (this.reloads.get(name) ?? 0) + 1);
    }
    for (const follower of this.followers) follower(names);
  }

  /** Return the names of the chunks that were loaded or are loading. */
  names(): readonly string[] {
    return [...this.asked.keys()];
  }

  /** Call `follower` with the names of changed chunks until the returned function is called. */
  follow(follower: (names: readonly string[]) => void): () => void {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  /** Two scripts of one chunk could answer in any order, so the second waits for the first. */
  private afterRunning(name: string): Promise<unknown> {
    const first = this.running.get(name);
    const chunk = first
      ? first.then(
          () => this.request(name),
          () => this.request(name),
        )
      : this.request(name);
    this.running.set(name, chunk);
    const ended = () => this.running.get(name) === chunk && this.running.delete(name);
    chunk.then(ended, ended);
    return chunk;
  }

  private file(name: string): string {
    return `${this.folder().split("?")[0]}/${name}.js`;
  }

  private request(name: string): Promise<unknown> {
    const version = this.reloads.get(name) ?? this.folder().split("?")[1];
    return new Promise((resolve, reject) => {
      const mine: Waiting = { resolve, reject };
      this.waiting.set(name, mine);
      const file = this.file(name);
      this.addScript(`${file}${version ? `?${version}` : ""}`, () => {
        if (this.waiting.get(name) !== mine) return;
        this.waiting.delete(name);
        reject(new Error(`${file} cannot be loaded; reload the page, or ${GENERATE}`));
      });
    });
  }
}

type Packed = Readonly<Record<string, unknown>>;

/** Make the documents again that `docs generate` wrote as one value or one list a field. */
export function unpacked(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return typeof value[0] === "object" ? value.map(unpacked) : value;
  const packed = value as Packed;
  const names = Object.keys(packed).filter((name) => name !== "#");
  if (!("#" in packed)) {
    return Object.fromEntries(names.map((name) => [name, unpacked(packed[name])]));
  }
  const found = Array.from({ length: packed["#"] as number }, (): Record<string, unknown> => ({}));
  for (const name of names) {
    const at = column(packed[name] as Packed | unknown[]);
    found.forEach((each, n) => {
      each[name] = at(n);
    });
  }
  return found;
}

function column(packed: Packed | unknown[]): (n: number) => unknown {
  if (Array.isArray(packed)) return (n) => unpacked(packed[n]);
  const values = (packed.of as unknown[]).map(unpacked);
  const places = packed.at as number[] | undefined;
  return places ? (n) => values[places[n] as number] : () => values[0];
}

const GENERATE = "run `penstock docs generate` again";

function otherFormat(file: string, format: number | undefined): string {
  const found = `${file} has format ${format}`;
  return `this page reads data of format ${FORMAT}, but ${found}; ${GENERATE}`;
}

function addScript(address: string, failed: () => void): void {
  const script = document.createElement("script");
  script.src = address;
  script.addEventListener("error", () => script.remove());
  script.addEventListener("error", failed);
  script.addEventListener("load", () => script.remove());
  script.addEventListener("load", failed);
  document.head.append(script);
}

/** Return the folder that `docs generate` named in the page, `?`, and a name of the site. */
export function dataFolder(): string {
  const named = document.querySelector<HTMLMetaElement>('meta[name="penstock-data"]');
  return named?.content || SERVED;
}

/** The folder in pages of `docs serve`. */
export const SERVED = "data";

export const chunks = new Chunks(dataFolder, addScript);

declare global {
  /** Called by every file of data. */
  var penstockData: (name: string, chunk: { readonly format?: number }) => void;
}

globalThis.penstockData = (name, chunk) => chunks.receive(name, chunk);

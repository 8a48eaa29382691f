/** Reads JSON that begins with an object: rows by their ids, an object with a list in it, a single row, or JSON Lines. */
import { isJsonObject, readExactJson } from '../../lib/text/json.ts';
import { ManifestError, type ManifestEntry } from './manifest.ts';
import { startingWith } from './open-bytes.ts';
import {
  ArrayProblem,
  type CutElement,
  ElementCutter,
  idOf,
  nameOf,
  problemOf,
  readElements,
  readJsonElement,
} from './read-json.ts';

/** The longest object: only its end shows how to read it, so its bytes are kept. */
const maxObjectBytes = 64 * 1024 * 1024;

const tooLarge =
  "is an object of more than 64 MiB; make a list of its rows (jq -c 'to_entries[] | {id: .key} + .value' OLD > NEW.jsonl), or take the list out of it (jq .NAME OLD > NEW.json)";

/** The rows of the object; or the bytes again, if other objects follow it in lines of their own. Throws `ManifestError`. */
export async function readJsonObject(
  path: string,
  bytes: AsyncGenerator<Buffer>,
): Promise<{ lines: AsyncGenerator<Buffer> } | { batches: AsyncGenerator<ManifestEntry[]> }> {
  const cutter = new ElementCutter({ isObject: true, maxBytes: maxObjectBytes });
  const pieces: Buffer[] = [];
  const seen: Seen = { kinds: new Set(), words: new Set(), lists: [], hasRows: false, isAbout: false };
  let size = 0;
  try {
    for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
      pieces.push(next.value);
      size += next.value.length;
      for (const member of cutter.cut(next.value)) look(seen, member);
      if (size > maxObjectBytes) throw new ArrayProblem(tooLarge);
    }
    cutter.end();
    const list = listIn(seen);
    if (list !== undefined) {
      const { line, bytes: all } = list;
      return { batches: readElements(path, piecesOf(all), { line }, readJsonElement) };
    }
    if (isById(seen)) return { batches: readElements(path, pieces, { isObject: true }, readMember) };
    return { batches: oneRow({ line: cutter.openedAt, bytes: Buffer.concat(pieces) }) };
  } catch (error) {
    if (error instanceof ArrayProblem && error.isLines)
      return { lines: startingWith(Buffer.concat(pieces), bytes) };
    throw error instanceof ArrayProblem ? new ManifestError(path, error.message, error.line) : error;
  }
}

const pieceBytes = 128 * 1024;

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes)
    yield bytes.subarray(start, start + pieceBytes);
}

async function* oneRow(element: CutElement): AsyncGenerator<ManifestEntry[]> {
  yield [readJsonElement(element)];
}

/** What tells how the object is meant. */
interface Seen {
  /** First characters of values that are no lists; `n` is null. */
  kinds: Set<string>;
  /** The `columnWords` that name a text, a number, true, false or null. */
  words: Set<string>;
  /** With their brackets. */
  lists: (CutElement & { name: string })[];
  /** True if a member is an object with a scene or a prompt. */
  hasRows: boolean;
  /** True if a text has one of `aboutWords` as its name. */
  isAbout: boolean;
}

/** Bytes of a member in which its name and the beginning of its value are looked for. */
const headBytes = 64 * 1024;

function look(seen: Seen, { line, bytes }: CutElement): void {
  const head = bytes.toString('latin1', 0, headBytes);
  const [whole = '', key = '', kind] = /^("[^"\\]*(?:\\.[^"\\]*)*")\s*:\s*(\S)/.exec(head) ?? [];
  if (kind === undefined) return;
  const { value } = readExactJson(Buffer.from(key, 'latin1').toString());
  const name = typeof value === 'string' ? value : '';
  if (kind === '[') {
    const start = whole.length - 1;
    seen.lists.push({ name, line: line + whole.split('\n').length - 1, bytes: bytes.subarray(start) });
    return;
  }
  seen.kinds.add(kind);
  if (kind === '{') seen.hasRows ||= /"(scene|prompt)"/i.test(head);
  else if (columnWords.has(name.toLowerCase())) seen.words.add(name.toLowerCase());
  seen.isAbout ||= kind === '"' && aboutWords.has(name.toLowerCase());
}

/** Undefined if the object is no list, or by id. Throws `ArrayProblem` if it is not clear what is meant. */
function listIn(seen: Seen): Seen['lists'][number] | undefined {
  const { lists, words, hasRows } = seen;
  if (rowWords.some((word) => words.has(word))) return undefined;
  if (hasRows && words.size === 0 && !isById(seen))
    throw new ArrayProblem(
      'has rows by id and other values; write all of them as rows: jq \'map_values(if type == "object" then . elif type == "string" then {prompt: .} else empty end)\' OLD > NEW.json',
    );
  const filled = lists.filter(({ bytes }) => !/^\[\s*\]/.test(bytes.toString('latin1', 0, headBytes)));
  if (filled.length < 2) return filled[0] ?? lists[0];
  const names = filled.map(({ name }) => name).join(', ');
  throw new ArrayProblem(`has several lists: ${names}; take one out of it: jq .NAME OLD > NEW.json`);
}

/** An object with such a text is a row. */
const rowWords = ['scene', 'prompt', 'caption', 'text'];
/** An object with such a member is a row, unless it has a list in it. */
const columnWords = new Set([...rowWords, 'description', 'id', 'seed']);
/** Texts of these names tell of a list rather than are one. */
const aboutWords = new Set(['title', 'name', 'author', 'version', 'license', 'date']);

/** All values are objects, or all are texts. */
function isById({ lists, words, kinds, isAbout }: Seen): boolean {
  if (lists.length > 0 || words.size > 0 || (isAbout && !kinds.has('{'))) return false;
  const known = [...kinds].filter((kind) => kind !== 'n');
  return known.length === 0 || (known.length === 1 && (kinds.has('{') || kinds.has('"')));
}

/** A row by its id; a column `id` of its own counts first. A text is a prompt. */
function readMember(element: CutElement): ManifestEntry {
  const { line, bytes } = element;
  const unread = problemOf(element);
  if (unread !== undefined) return { kind: 'bad', line, problem: unread };
  const { value, problem } = readExactJson(`{${bytes.toString()}}`);
  const [id = '', row] = isJsonObject(value) ? (Object.entries(value)[0] ?? []) : [];
  if (problem === undefined && typeof row === 'string')
    return { kind: 'row', columns: { id, prompt: row }, line };
  if (problem === undefined && isJsonObject(row)) return { kind: 'row', columns: { id, ...row }, line };
  const text = problem ?? `is not a JSON object but ${nameOf(row)}`;
  return { kind: 'bad', line, problem: text, ...idOf({ id }) };
}

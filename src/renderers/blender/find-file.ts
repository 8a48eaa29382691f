/** Finds the file of a job. The file, and all files that it names, must be inside the allowed folder. */
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Decompress } from 'fzstd';
import { RequestError, type Source } from './read-request.ts';

const maxFileBytes = 256 * 1024 * 1024;

interface AllowedFolders {
  assets: string | null;
  scripts: string | null;
}

/** Returns the real paths of the file and of the folder that it must stay in. `folder`: the job's own folder. */
export function findFile(
  source: Exclude<Source, { kind: 'scene' }>,
  { assets, scripts }: AllowedFolders,
  folder: string,
): { path: string; root: string } {
  if ('base64' in source) {
    const path = join(folder, `file.${source.format}`);
    writeFileSync(path, Buffer.from(source.base64, 'base64'));
    return checked(source.kind, path, realpathSync(folder));
  }
  const [key, given, allowed] =
    source.kind === 'script' ? ['scripts', source.name, scripts] : ['assets', source.path, assets];
  if (allowed === null)
    throw new RequestError(
      `'${source.kind}' is not allowed here: the endpoint sets no folder of ${key} (\`blender: {${key}: …}\`).`,
    );
  const ends = { blend: ['.blend'], gltf: ['.gltf', '.glb'], obj: ['.obj'], script: ['.py'] }[source.kind];
  const root = realpathSync(allowed);
  const path = join(root, given);
  if (!ends.includes(extname(path).toLowerCase()))
    throw new RequestError(
      `'${source.kind}' must be the path of a ${ends.join(' or ')} file in the folder of ${key}.`,
    );
  assertWithin(path, root, `'${source.kind}' ${given}`);
  if (!existsSync(path) || !statSync(path).isFile())
    throw new RequestError(`'${source.kind}' names ${given}, which is not in the folder of ${key}.`);
  return checked(source.kind, realpathSync(path), root);
}

function assertWithin(path: string, root: string, said: string): void {
  const real = realPath(path);
  if (real === root || real.startsWith(root + sep)) return;
  throw new RequestError(
    `${said.slice(0, 300)} leads out of the folder that the endpoint allows; nothing there is read.`,
  );
}

/** Resolves symbolic links, also for a path that does not exist yet. */
function realPath(path: string): string {
  return existsSync(path) || dirname(path) === path
    ? realpathSync(path)
    : join(realPath(dirname(path)), basename(path));
}

function checked(
  kind: Exclude<Source['kind'], 'scene'>,
  path: string,
  root: string,
): { path: string; root: string } {
  if (statSync(path).size > maxFileBytes)
    throw new RequestError(`The file has more than ${maxFileBytes / 2 ** 20} MiB.`);
  const names = { blend: librariesOf, gltf: urisOf, obj: texturesOf, script: () => [] }[kind](path);
  for (const name of names.map((each) => each.replaceAll('\\', '/')))
    assertWithin(resolve(dirname(path), name), root, `The file names ${name}, which`);
  return { path, root };
}

/** Libraries that the file links. worker.py checks other linked files before it uses them. */
function librariesOf(path: string): string[] {
  return linkedLibraries(readFileSync(path), maxFileBytes * 4);
}

function urisOf(path: string): string[] {
  const bytes = readFileSync(path);
  const isBinary = bytes.toString('latin1', 0, 4) === 'glTF' && bytes.length >= 20;
  const json = isBinary ? bytes.subarray(20, 20 + bytes.readUInt32LE(12)) : bytes;
  const uris: string[] = [];
  try {
    JSON.parse(json.toString(), (key, value: unknown) => {
      if (key === 'uri' && typeof value === 'string' && !value.startsWith('data:')) uris.push(value);
      return value;
    });
    return uris.flatMap((uri) => [uri, decodeURIComponent(uri)]);
  } catch {
    throw new RequestError('The file is no glTF: its JSON cannot be read.');
  }
}

/** Material libraries of an OBJ file and their textures. Names may contain spaces and follow options. */
function texturesOf(path: string): string[] {
  const wordsAfter = (file: string, keyword: RegExp): string[] => {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim());
    const rests = lines.filter((line) => keyword.test(line)).map((line) => line.replace(/^\S+\s+/, ''));
    return rests.flatMap((rest) => [rest, ...rest.split(/\s+/)]);
  };
  const libraries = wordsAfter(path, /^mtllib\s/i);
  const files = libraries.map((name) => resolve(dirname(path), name)).filter((file) => existsSync(file));
  return [
    ...libraries,
    ...files.flatMap((file) => wordsAfter(file, /^(map_\w+|bump|disp|decal|refl|norm)\s/i)),
  ];
}

/**
 * Returns the libraries that a .blend file links, before Blender follows them: absolute paths, or paths
 * relative to the file. None for the block format of Blender 5. `maxBytes`: maximum unpacked size of a compressed file.
 * Throws `RequestError` for a file that is no .blend or too large.
 */
export function linkedLibraries(file: Buffer, maxBytes: number): string[] {
  const bytes = unpacked(file, maxBytes);
  if (bytes.toString('latin1', 0, 7) !== 'BLENDER') throw new RequestError('The file is no .blend.');
  const [width, order] = [bytes.toString('latin1', 7, 8), bytes.toString('latin1', 8, 9)];
  // Blender 5 has another block format.
  if (width !== '-' && width !== '_') return [];
  const layout = { pointerBytes: width === '-' ? 8 : 4, isLittleEndian: order === 'v' };
  const blocks = readBlocks(bytes, layout);
  const libraries = blocks.filter(({ code }) => code.startsWith('LI'));
  if (libraries.length === 0) return [];
  try {
    const offset = nameOffset(blocks.find(({ code }) => code === 'DNA1')?.data, layout);
    return libraries.map(({ data }) => nameAt(data, offset));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new RequestError('The file is no .blend: it is cut or damaged.');
  }
}

function unpacked(bytes: Buffer, maxBytes: number): Buffer {
  const magic = bytes.toString('hex', 0, 4);
  try {
    if (magic.startsWith('1f8b')) return gunzipSync(bytes, { maxOutputLength: maxBytes });
    return magic === '28b52ffd' ? unzstd(bytes, maxBytes) : bytes;
  } catch {
    throw new RequestError('The file is no .blend: it cannot be unpacked.');
  }
}

/** Throws `RangeError` if there are more bytes, and the library's error for a damaged file. */
function unzstd(bytes: Buffer, maxBytes: number): Buffer {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = new Decompress((part) => {
    length += part.length;
    if (length > maxBytes) throw new RangeError('the file is too large');
    parts.push(part);
  });
  reader.push(bytes, true);
  return Buffer.concat(parts);
}

interface Layout {
  pointerBytes: number;
  isLittleEndian: boolean;
}

function readBlocks(bytes: Buffer, { pointerBytes, isLittleEndian }: Layout) {
  const head = 16 + pointerBytes;
  const blocks: { code: string; data: Buffer }[] = [];
  for (let at = 12; at + head <= bytes.length;) {
    const size = Math.max(0, isLittleEndian ? bytes.readInt32LE(at + 4) : bytes.readInt32BE(at + 4));
    const data = bytes.subarray(at + head, at + head + size);
    blocks.push({ code: bytes.toString('latin1', at, at + 4), data });
    at += head + size;
  }
  return blocks;
}

/** Reads a path: UTF-8, terminated by NUL, relative to the file's folder if it starts with `//`. */
function nameAt(library: Buffer, offset: number): string {
  const end = library.indexOf(0, offset);
  const name = library.subarray(offset, end === -1 ? undefined : end).toString('utf8');
  if (offset >= library.length || name.includes('\uFFFD'))
    throw new RequestError('The file links a library whose name cannot be read.');
  return name.replace(/^\/\//, './');
}

/**
 * Returns the offset of a library's name, read from the file's description of its structures (DNA). A field
 * next to it holds the library's path on the machine that saved the file, which Blender ignores.
 */
function nameOffset(dna: Buffer | undefined, { pointerBytes, isLittleEndian }: Layout): number {
  if (dna === undefined) throw new RangeError('there is no description');
  const words = new DnaReader(dna, isLittleEndian);
  const names = words.texts('NAME');
  const types = words.texts('TYPE');
  const sizes = words.shorts('TLEN', types.length);
  for (const { type, fields } of words.structures('STRC')) {
    if (types[type] !== 'Library') continue;
    let offset = 0;
    const offsets = new Map<string, number>();
    for (const field of fields) {
      const text = names[field.name] ?? '';
      const count = [...text.matchAll(/\[(\d+)\]/g)].reduce((all, [, each]) => all * Number(each), 1);
      offsets.set(text.replace(/\[.*/, ''), offset);
      offset += (/^\(?\*/.test(text) ? pointerBytes : (sizes[field.type] ?? 0)) * count;
    }
    const found = offsets.get('name') ?? offsets.get('filepath');
    if (found !== undefined) return found;
  }
  throw new RangeError('libraries are not described');
}

/** Reads the sections of a DNA block in order. Each starts with its name, at a multiple of four bytes. */
class DnaReader {
  readonly #dna: Buffer;
  readonly #isLittleEndian: boolean;
  #at = 4;

  constructor(dna: Buffer, isLittleEndian: boolean) {
    this.#dna = dna;
    this.#isLittleEndian = isLittleEndian;
  }

  texts(section: string): string[] {
    const count = this.#begin(section);
    return Array.from({ length: count }, () => {
      const end = this.#dna.indexOf(0, this.#at);
      if (end === -1) throw new RangeError('it is cut');
      const text = this.#dna.toString('latin1', this.#at, end);
      this.#at = end + 1;
      return text;
    });
  }

  shorts(section: string, count: number): number[] {
    this.#find(section);
    return Array.from({ length: count }, () => this.#short());
  }

  structures(section: string): { type: number; fields: { type: number; name: number }[] }[] {
    const count = this.#begin(section);
    return Array.from({ length: count }, () => {
      const [type, length] = [this.#short(), this.#short()];
      return { type, fields: Array.from({ length }, () => ({ type: this.#short(), name: this.#short() })) };
    });
  }

  #begin(section: string): number {
    this.#find(section);
    const count = this.#isLittleEndian ? this.#dna.readInt32LE(this.#at) : this.#dna.readInt32BE(this.#at);
    this.#at += 4;
    // Each entry has at least one byte.
    if (count < 0 || count > this.#dna.length) throw new RangeError('it is damaged');
    return count;
  }

  #find(section: string): void {
    this.#at = Math.ceil(this.#at / 4) * 4;
    if (this.#dna.toString('latin1', this.#at, this.#at + 4) !== section)
      throw new RangeError('it is damaged');
    this.#at += 4;
  }

  #short(): number {
    const value = this.#isLittleEndian ? this.#dna.readUInt16LE(this.#at) : this.#dna.readUInt16BE(this.#at);
    this.#at += 2;
    return value;
  }
}

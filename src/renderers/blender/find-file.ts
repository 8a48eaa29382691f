/** Where a job's file is: only within the folder that is allowed, as has to be all that it names. */
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decompress } from 'fzstd';
import { RequestError, type Source } from './read-request.ts';

const maxFileBytes = 256 * 1024 * 1024;

interface AllowedFolders {
  assets: string | null;
  scripts: string | null;
}

/** Real paths: of the file, and of the folder that it has to stay in; `folder` is the job's own. */
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

/** Also of what is not there. */
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

/** Linked libraries, before Blender follows them: what else is linked its own side checks before it is used. */
function librariesOf(path: string): string[] {
  const bytes = unpacked(readFileSync(path));
  if (bytes.toString('latin1', 0, 7) !== 'BLENDER') throw new RequestError('The file is no .blend.');
  const [width, order] = [bytes.toString('latin1', 7, 8), bytes.toString('latin1', 8, 9)];
  // The blocks of Blender 5 are others.
  if (width !== '-' && width !== '_') return [];
  const head = width === '-' ? 24 : 20;
  const names: string[] = [];
  for (let at = 12; at + head <= bytes.length;) {
    const size = Math.max(0, order === 'v' ? bytes.readInt32LE(at + 4) : bytes.readInt32BE(at + 4));
    if (bytes.toString('latin1', at, at + 2) === 'LI') {
      const body = bytes.toString('latin1', at + head, at + head + size);
      names.push(
        ...(body.match(/(?:\/|\.\.)[ -~]{2,1023}\.blend/gi) ?? []).map((name) => name.replace(/^\/\//, '')),
      );
    }
    at += head + size;
  }
  return names;
}

function unpacked(bytes: Buffer): Buffer {
  const magic = bytes.toString('hex', 0, 4);
  try {
    if (magic.startsWith('1f8b')) return gunzipSync(bytes, { maxOutputLength: maxFileBytes * 4 });
    return magic === '28b52ffd' ? Buffer.from(decompress(bytes)) : bytes;
  } catch {
    throw new RequestError('The file is no .blend: it cannot be unpacked.');
  }
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

/** Its materials and their textures. Names may hold spaces, and options may stand before them. */
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

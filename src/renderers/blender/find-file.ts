/** Where a job's file is: only within the folder that is allowed, as has to be all that it names. */
import { existsSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { linkedLibraries } from './linked-libraries.ts';
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

/** What else is linked Blender's side checks before it is used. */
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

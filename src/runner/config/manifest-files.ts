/** Finds the files that `manifest` stands for: paths, patterns such as `lists/*.txt`, and folders of Parquet files. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { isGlob, matchingFiles } from '../../lib/files/glob.ts';
import { shellWord } from '../../lib/text/format.ts';
import type { Path } from '../../lib/yaml/read-yaml.ts';

export interface ManifestFile {
  /** Absolute path, or `-`. A pattern that matches no file is kept, so that reading it reports the problem. */
  path: string;
  /** Place in the configuration. */
  at: Path;
}

/**
 * `manifest`: absolute paths and patterns. A pattern does not match what the batch itself has written into
 * `outputDir`.
 */
export function manifestFiles(manifest: readonly string[], outputDir: string): ManifestFile[] {
  const written = ['images', 'report', 'kept-answers'].map((name) => join(outputDir, name) + sep);
  const filesAt = (path: string): string[] => {
    if (path === '-' || existsSync(path) || !isGlob(path)) return shardsAt(path);
    const found = matchingFiles(path).filter((file) => !written.some((folder) => file.startsWith(folder)));
    return found.length === 0 ? [path] : found.filter((file) => !manifest.includes(file));
  };
  return manifest.flatMap((given, index) => {
    const at = manifest.length > 1 ? ['manifest', index] : ['manifest'];
    return filesAt(given).map((path) => ({ path, at }));
  });
}

/** Returns the Parquet files of a folder, sorted, if it has no .txt files; otherwise the path itself. */
function shardsAt(path: string): string[] {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return [path];
  const names = readdirSync(path).filter((name) => /^[^.].*\.(parquet|txt)$/i.test(name));
  if (names.length === 0 || names.some((name) => /\.txt$/i.test(name))) return [path];
  return names.toSorted().map((name) => join(path, name));
}

/** Explains how to download a list that is given as a URL; undefined for a path. */
export function downloadHint(given: string): string | undefined {
  // As an option, a URL has become a path: /home/ann/https:/example.com/birds.csv
  const [, scheme = '', rest = ''] = /(?:^|\/)(https?|s3):\/+(.+)$/i.exec(given) ?? [];
  if (scheme === '') return undefined;
  const url = `${scheme}://${rest}`;
  const [, found] = /\/([^/?#]+\.\w+)(?:[?#].*)?$/.exec(rest) ?? [];
  const name = found ?? 'list.csv';
  const curl = `curl ${found === undefined ? `-Lo ${name}` : '-LO'} ${shellWord(url)}`;
  const command = scheme.toLowerCase() === 's3' ? `aws s3 cp ${shellWord(url)} ${shellWord(name)}` : curl;
  return `${url} is a URL, and a list must be a file. Download it, \`${command}\`, and write manifest: ${name}`;
}

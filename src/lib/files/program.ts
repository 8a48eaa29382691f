/** Name and version of this program, as package.json states them. */
import { readFileSync } from 'node:fs';
import { packageFile } from './package-file.ts';

const { version } = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { version: string };

/** For example `nightrender 0.2.0`. */
export const program = `nightrender ${version}`;

/** The program's name and version, as it signs reports and checkpoints. */
import { readFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const program = `nightrender ${version}`;

/** What the program is for, in a sentence. */
export const purpose = 'Renders long lists of scenes on a GPU job service, and goes on where it was stopped.';

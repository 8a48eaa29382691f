/** Files of a scene besides its pictures: the entries of `output.files`, and saved scenes that lack them. */

export const fileKinds = ['png', 'exr', 'json', 'glb', 'npz'] as const;

export type FileKind = (typeof fileKinds)[number];

/** One entry of `output.files`. */
export interface NamedFile {
  /** Key of the entry, such as `depth`. */
  label: string;
  kind: FileKind;
}

/** An entry of `output.files` with its path in a job's output: keys, outermost first. */
export interface FilePlace extends NamedFile {
  at: string[];
}

/** Value of `output.image` for jobs that return only files. */
export const noPicture = 'none';

export function endingOfKind(kind: FileKind): string {
  return `.${kind}`;
}

export function kindOfFile(file: string): FileKind {
  return fileKinds.find((kind) => file.endsWith(`.${kind}`)) ?? 'png';
}

/** Returns the files to save. If only values are wanted of a job, its whole output is saved as a file. */
export function filesAsked(image: string | undefined, files: FilePlace[]): FilePlace[] {
  const isBare = image === noPicture && files.length === 0;
  return isBare ? [{ label: 'output', kind: 'json', at: [] }] : files;
}

/** Number of saved scenes that lack a file because they were saved before it was requested. */
export interface LackingFile {
  label: string;
  scenes: number;
}

/** Returns a note about the lacking files, or undefined if there are none. */
export function lackingText(lacking: readonly LackingFile[]): string | undefined {
  if (lacking.length === 0) return undefined;
  const each = lacking.map(({ label, scenes }) =>
    scenes === 1
      ? `1 saved scene has no file ${label}`
      : `${scenes.toLocaleString('en')} saved scenes have no file ${label}`,
  );
  return `${each.join(', ')}: saved before \`output.files\` asked for it, and not rendered again. To have them rendered again, each billed as a new job: \`nightrender retry <pipeline> --lacking-files\``;
}

/** Files that a scene has besides its pictures: what `output.files` asks for, and which saved scenes lack. */

export const fileKinds = ['png', 'exr', 'json', 'glb', 'npz'] as const;

export type FileKind = (typeof fileKinds)[number];

/** One entry of `output.files`. */
export interface NamedFile {
  /** Its key: `depth`. */
  label: string;
  kind: FileKind;
}

/** That and where it is in a job's output: keys, outermost first. */
export interface FilePlace extends NamedFile {
  at: string[];
}

/** `output.image` of jobs that give files alone. */
export const noPicture = 'none';

export function endingOfKind(kind: FileKind): string {
  return `.${kind}`;
}

/** Of a file that is on record, by its ending. */
export function kindOfFile(file: string): FileKind {
  return fileKinds.find((kind) => file.endsWith(`.${kind}`)) ?? 'png';
}

/** A job without pictures and files, of which only values are wanted, leaves its whole output. */
export function filesAsked(image: string | undefined, files: FilePlace[]): FilePlace[] {
  const isBare = image === noPicture && files.length === 0;
  return isBare ? [{ label: 'output', kind: 'json', at: [] }] : files;
}

/** How many saved scenes have no such file, since they were saved before it was asked for. */
export interface LackingFile {
  label: string;
  scenes: number;
}

/** What should be known of them; undefined where there is none. */
export function lackingText(lacking: readonly LackingFile[]): string | undefined {
  if (lacking.length === 0) return undefined;
  const each = lacking.map(({ label, scenes }) =>
    scenes === 1
      ? `1 saved scene has no file ${label}`
      : `${scenes.toLocaleString('en')} saved scenes have no file ${label}`,
  );
  return `${each.join(', ')}: saved before \`output.files\` asked for it, and not rendered again. To have them rendered again, each billed as a new job: \`nightrender retry <pipeline> --lacking-files\``;
}

/** The marks that a reader can give a scene. */

export const marks = {
  star: { key: 's', sign: '★', act: 'Star', word: 'starred', file: 'starred.txt' },
  reject: { key: 'x', sign: '✕', act: 'Reject', word: 'rejected', file: 'rejected.txt' },
  again: { key: 'r', sign: '↻', act: 'Render again', word: 'to render again', file: 'render-again.txt' },
} as const;

export type Mark = keyof typeof marks;

export const markNames = Object.keys(marks) as Mark[];

/** Tones of a state: CSS classes that set its colour. */
export type Tone = 'good' | 'wait' | 'bad' | 'calm';

/** Tone of a scene's state; undefined for neutral states. */
export function toneOf(state: string): Tone | undefined {
  if (state === 'saved') return 'good';
  if (state === 'failed' || state === 'invalid') return 'bad';
  return state === 'waiting' || state === 'active' ? 'wait' : undefined;
}

/** How something stands, as a colour: the names of classes. */
export type Tone = 'good' | 'wait' | 'bad' | 'calm';

/** Of a scene in this state; none where it is neither well nor ill. */
export function toneOf(state: string): Tone | undefined {
  if (state === 'saved') return 'good';
  if (state === 'failed' || state === 'invalid') return 'bad';
  return state === 'waiting' || state === 'active' ? 'wait' : undefined;
}

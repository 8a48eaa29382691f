/** Clips side by side that play in step: one button plays all, one slider moves all, and one of them is heard. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Choices } from '../shared/choices.tsx';
import { Sign } from '../shared/clip-player.tsx';
import { clockWords, type ShownClip } from '../shared/grid-picture.ts';
import { letterOf } from './mark-buttons.tsx';

/** One of the clips. Its place in the dialog decides how large it is. */
export function SteppedClip({ clip, label }: { clip: ShownClip; label: string }): JSX.Element {
  const { kind, source, poster, width, height } = clip;
  const common = { src: source, preload: 'metadata', 'aria-label': label, 'data-step': true } as const;
  if (kind === 'sound')
    return (
      <span class="clip sound">
        <span class="blank">
          <Sign kind={kind} />
        </span>
        <audio {...common} />
      </span>
    );
  return <video {...common} poster={poster} width={width} height={height} playsInline muted />;
}

/** Returns true for clips that have a time. Animations play by themselves. */
export function canStep(clip: ShownClip | undefined): boolean {
  return clip !== undefined && clip.kind !== 'animation';
}

interface Props {
  /** Clips of the sides, in their order. Undefined for sides that are none. */
  clips: (ShownClip | undefined)[];
  steps: Steps;
}

/** The controls of all clips. */
export function StepControls({ clips, steps }: Props): JSX.Element {
  const { isPlaying, at, length, heard, toggle, seek, hear } = steps;
  const sides = clips.flatMap((clip, position) => (canStep(clip) ? [position] : []));
  const options: [number, string][] = [
    [nobody, 'no sound'],
    ...sides.map((side): [number, string] => [side, `sound of ${letterOf(side)}`]),
  ];
  return (
    <div class="steps">
      <button type="button" class="primary" aria-label={isPlaying ? 'Pause' : 'Play'} onClick={toggle}>
        {isPlaying ? '❚❚' : '▶'}
      </button>
      <input
        type="range"
        max={length}
        step="any"
        value={at}
        aria-label="Time in all clips"
        aria-valuetext={`${at.toFixed(1)} s of ${length.toFixed(1)} s`}
        onInput={(event) => seek(event.currentTarget.valueAsNumber)}
      />
      <small>
        {clockWords(Math.floor(at))} / {clockWords(Math.round(length))}
      </small>
      <Choices label="Sound" options={options} chosen={heard} onChoose={hear} />
    </div>
  );
}

const nobody = -1;

/** Clips that are further apart than this jump to the time of the longest clip. In seconds. */
const maxApart = 0.25;
/** Clips that are further apart than this play a little faster or slower until they meet. In seconds. */
const maxUnseen = 0.02;

type Steps = ReturnType<typeof useSteps>;

/**
 * Keeps the clips of a dialog in step. The longest one leads: the others follow its time, and a shorter one stays at its
 * end. All wait while one of them loads. `clips`: changes when other clips are shown.
 */
export function useSteps(clips: (ShownClip | undefined)[]) {
  const known = clips.map((clip) => clip?.source ?? '').join('\n');
  const [isPlaying, setPlaying] = useState(false);
  const [at, setAt] = useState(0);
  const [length, setLength] = useState(0);
  const [chosen, hear] = useState<number>();
  const heard = chosen ?? clips.findIndex((clip) => clip?.kind === 'sound');
  // Events come before a state is rendered.
  const wanted = useRef(false);
  const want = (isWanted: boolean): void => {
    wanted.current = isWanted;
    setPlaying(isWanted);
  };
  const play = (player: HTMLMediaElement): void =>
    void player.play().catch(({ name }: Error) => {
      // Otherwise this clip waits for another one.
      if (name !== 'AbortError') want(false);
    });
  const players = useRef<HTMLMediaElement[]>([]);
  useEffect(() => {
    const all = [...document.querySelectorAll<HTMLMediaElement>('dialog[open] [data-step]')];
    players.current = all;
    want(false);
    setAt(0);
    const listening = new AbortController();
    const { signal } = listening;
    const measure = (): void => setLength(lengthOf(leaderOf(all)));
    const follow = (): void => {
      const leader = leaderOf(all);
      if (leader === undefined) return;
      setAt(leader.currentTime);
      const isWaiting = all.some(isLoading);
      for (const each of all) {
        if (each !== leader) bringIntoStep(each, leader.currentTime);
        const isAtEnd = each.ended || (each !== leader && leader.currentTime >= lengthOf(each));
        if (!wanted.current || isAtEnd || (isWaiting && !isLoading(each))) each.pause();
        else if (each.paused) play(each);
      }
      if (leader.ended) want(false);
    };
    for (const each of all) {
      each.addEventListener('loadedmetadata', measure, { signal });
      for (const type of ['timeupdate', 'waiting', 'canplay', 'seeked', 'ended', 'playing'])
        each.addEventListener(type, follow, { signal });
    }
    measure();
    return () => listening.abort();
  }, [known]);
  useEffect(() => {
    const sounding = [...document.querySelectorAll('.panes figure')][heard];
    for (const each of players.current) each.muted = sounding?.contains(each) !== true;
  }, [known, heard]);
  const seek = (time: number): void => {
    setAt(time);
    for (const each of players.current) each.currentTime = Math.min(time, lengthOf(each));
  };
  const toggle = (): void => {
    const isWanted = !wanted.current;
    want(isWanted);
    if (isWanted && leaderOf(players.current)?.ended === true) seek(0);
    for (const each of players.current) {
      if (isWanted) play(each);
      else each.pause();
    }
  };
  return { isPlaying, at, length, heard, hear, seek, toggle, hasClips: clips.some(canStep) };
}

/** Returns the length in seconds. 0 until it is known. */
function lengthOf(player: HTMLMediaElement | undefined): number {
  const { duration = 0 } = player ?? {};
  return Number.isFinite(duration) ? duration : 0;
}

function leaderOf(players: HTMLMediaElement[]): HTMLMediaElement | undefined {
  return players.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];
}

function isLoading({ readyState, ended, error }: HTMLMediaElement): boolean {
  return !ended && error === null && readyState < HTMLMediaElement.HAVE_FUTURE_DATA;
}

function bringIntoStep(player: HTMLMediaElement, time: number): void {
  if (player.seeking || isLoading(player)) return;
  const apart = player.currentTime - Math.min(time, lengthOf(player));
  if (Math.abs(apart) > maxApart) player.currentTime -= apart;
  player.playbackRate = Math.abs(apart) <= maxUnseen ? 1 : 1 - Math.max(-0.1, Math.min(0.1, apart));
}

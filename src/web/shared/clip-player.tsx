/** Clips, which are video or sound: tiles that play under the pointer, and players with the browser's own controls. */
import type { JSX } from 'preact';
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Connection, lengthWords, type ShownClip } from './grid-picture.ts';

/** A larger animation is loaded only if somebody looks at it. */
const maxPlainBytes = 1_000_000;

/** A tile in a grid: the first frame, or name and length. A video plays without sound while the pointer or the focus is on it. */
export function ClipTile({ clip, alt }: { clip: ShownClip; alt: string }): JSX.Element {
  const { kind, source, poster, bytes, facts } = clip;
  const tile = useRef<HTMLSpanElement>(null);
  const [missing, setMissing] = useState('');
  const connection = useContext(Connection);
  const isLookedAt = useLookedAt(tile);
  const isPlain =
    kind === 'animation' && poster === undefined && bytes <= maxPlainBytes && !isMotionReduced();
  const still = isPlain ? source : poster;
  const isPlaying = isLookedAt && kind !== 'sound' && !isPlain;
  const length = lengthWords(facts);
  return (
    <span ref={tile} class={`clip ${kind}`}>
      {still !== undefined && `${connection} ${still}` !== missing ? (
        <img
          src={still}
          alt={alt}
          loading="lazy"
          decoding="async"
          onError={() => setMissing(`${connection} ${still}`)}
        />
      ) : (
        <span class="blank">
          <span class="unseen">{alt}: </span>
          <Sign kind={kind} />
          <bdi class="name">{clip.name}</bdi>
        </span>
      )}
      {isPlaying && (kind === 'animation' ? <img src={source} alt="" /> : <SilentVideo source={source} />)}
      <span class="unseen">, {kind}</span>
      {(length !== '' || still !== undefined) && (
        <span class="length">
          {still !== undefined && <Sign kind={kind} />}
          {length}
        </span>
      )}
    </span>
  );
}

/** Time for which a pointer rests on a tile before the clip is loaded. A pointer that passes by loads nothing. */
const restMs = 150;

/** True while a mouse rests on the item of the tile, or the keyboard has moved the focus there. */
function useLookedAt(tile: { current: HTMLElement | null }): boolean {
  const [isLookedAt, setLookedAt] = useState(false);
  // Before the first painting, because the pointer may be there already.
  useLayoutEffect(() => {
    const item = tile.current?.closest('li');
    if (item === null || item === undefined || isMotionReduced()) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => setLookedAt(true), restMs);
    };
    const end = (): void => {
      clearTimeout(timer);
      setLookedAt(false);
    };
    const listening = new AbortController();
    const on = (type: string, listener: (event: Event) => void): void =>
      item.addEventListener(type, listener, { signal: listening.signal });
    // A finger plays nothing by itself.
    on('pointerenter', (event) => event instanceof PointerEvent && event.pointerType !== 'touch' && begin());
    on('pointerleave', end);
    on('focusin', ({ target }) => target instanceof Element && target.matches(':focus-visible') && begin());
    on('focusout', end);
    // The dialog that opens has a player of its own.
    on('click', ({ target }) => target instanceof Element && target.closest('.picture') !== null && end());
    return () => {
      clearTimeout(timer);
      listening.abort();
    };
  }, []);
  return isLookedAt;
}

function isMotionReduced(): boolean {
  return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

function SilentVideo({ source }: { source: string }): JSX.Element {
  const video = useRef<HTMLVideoElement>(null);
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const { current: playing } = video;
    // The still picture stays if the browser cannot play the clip.
    playing?.play().catch(() => undefined);
    return () => {
      // An element without a source stops loading at once.
      playing?.removeAttribute('src');
      playing?.load();
    };
  }, []);
  return (
    <video
      ref={video}
      class={isShown ? 'shown' : ''}
      src={source}
      muted
      loop
      playsInline
      preload="none"
      disablePictureInPicture
      tabIndex={-1}
      aria-hidden="true"
      onPlaying={() => setShown(true)}
    />
  );
}

/** The clip of an open scene. Nothing is loaded before somebody plays it. */
export function ClipPlayer({ clip, alt }: { clip: ShownClip; alt: string }): JSX.Element {
  const { kind, source, poster, width, height } = clip;
  const [refused, setRefused] = useState('');
  const tried = `${useContext(Connection)} ${source}`;
  const kept = useRef({ source, key: tried });
  // A clip that has failed is tried again by another element, once there is another connection.
  if (kept.current.source !== source || kept.current.key === refused) kept.current = { source, key: tried };
  const { key } = kept.current;
  const onError = (): void => setRefused(key);
  if (kind === 'animation')
    return <img key={key} src={source} alt={alt} width={width} height={height} onError={onError} />;
  const common = { src: source, controls: true, preload: 'none', 'aria-label': alt } as const;
  return (
    <div key={key} class={`player ${kind}`}>
      {kind === 'sound' ? (
        <>
          <Sign kind="sound" />
          <bdi class="name">{clip.name}</bdi>
          <audio {...common} onError={onError} />
        </>
      ) : (
        <video
          {...common}
          poster={poster}
          playsInline
          loop
          style={width > 0 ? { width: `${width}px`, aspectRatio: `${width} / ${height}` } : {}}
          onError={onError}
        />
      )}
      {refused === key && (
        <p class="message bad" role="alert">
          This browser cannot play it: <a href={source}>open the file</a> with another program.
        </p>
      )}
    </div>
  );
}

/** Plays or stops the clip of a dialog. Returns false if the dialog shows none. */
export function togglePlayer(dialog: Element | null): boolean {
  const player = dialog?.querySelector<HTMLMediaElement>(':is(video, audio)[controls]') ?? null;
  if (player === null) return false;
  // The player itself says why it cannot play.
  if (player.paused) player.play().catch(() => undefined);
  else player.pause();
  return true;
}

/** A triangle for what moves, a wave for sound. */
export function Sign({ kind }: Pick<ShownClip, 'kind'>): JSX.Element {
  return (
    <svg class="sign" viewBox="0 0 24 24" aria-hidden="true">
      {kind === 'sound' ? (
        <path d="M3 10v4M7.5 6v12M12 3v18M16.5 7v10M21 10v4" class="wave" />
      ) : (
        <path d="M8 4.8v14.4a.8.8 0 0 0 1.2.7l11.3-7.2a.8.8 0 0 0 0-1.4L9.2 4.1a.8.8 0 0 0-1.2.7z" />
      )}
    </svg>
  );
}

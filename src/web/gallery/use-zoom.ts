/** One zoom, or one wipe, for several pictures: by wheel, drag, pinch and keys. */
import type { TargetedMouseEvent, TargetedPointerEvent, TargetedWheelEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { isPlainKey } from './mark-buttons.tsx';

interface Zoom {
  scale: number;
  /** How far the middle of the picture is from that of its frame, in sizes of the frame. */
  x: number;
  y: number;
}

const whole: Zoom = { scale: 1, x: 0, y: 0 };

const maxScale = 40;

/** In widths of the frame: whoever drags from so near the line of the wipe drags that. */
const nearLine = 0.04;

export const zoomKeys: [string, string][] = [
  ['+ −', 'zoom'],
  ['← ↑ → ↓', 'move'],
  ['0', 'fit'],
  ['1', 'pixels'],
  ['W', 'wipe'],
];

export type Zooming = ReturnType<typeof useZoom>;

/** Where all of a picture is seen, what would move it moves the wipe, whose place is undefined where there is none. */
export function useZoom(canWipe: boolean) {
  const [zoom, setZoom] = useState(whole);
  const [wiped, setWiped] = useState<number>();
  const wipe = canWipe ? wiped : undefined;
  const setWipe = (share: number): void => setWiped(Math.min(1, Math.max(0, share)));
  const toggleWipe = (): void => setWiped(wiped === undefined ? 0.5 : undefined);
  const zoomAt = (factor: number, at = { x: 0, y: 0 }): void =>
    setZoom((before) => zoomed(before, factor, at));
  const fit = (): void => setZoom(whole);
  const zoomToPixels = (): void =>
    setZoom((before) => zoomed(before, scaleOfPixels() / before.scale, { x: 0, y: 0 }, 0));
  const move = (x: number, y: number): void =>
    setZoom(({ scale, ...at }) => within({ scale, x: at.x + x, y: at.y + y }));
  const step = (x: number, y: number): void =>
    wipe !== undefined && zoom.scale <= 1 ? setWipe(wipe - x / 2) : move(x, y);
  const actions: Record<string, () => void> = {
    '+': () => zoomAt(1.25),
    '=': () => zoomAt(1.25),
    '-': () => zoomAt(0.8),
    '0': fit,
    '1': zoomToPixels,
    w: toggleWipe,
    arrowleft: () => step(0.1, 0),
    arrowright: () => step(-0.1, 0),
    arrowup: () => step(0, 0.1),
    arrowdown: () => step(0, -0.1),
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = actions[event.key.toLowerCase()];
    if (act === undefined || !isPlainKey(event) || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    act();
  };
  const frame = useFrame(zoomAt, (from, to) => {
    const isAtLine = wipe !== undefined && Math.abs(from.x + 0.5 - wipe) < nearLine;
    if (wipe !== undefined && (isAtLine || zoom.scale <= 1)) setWipe(to.x + 0.5);
    else move(to.x - from.x, to.y - from.y);
  });
  return { zoom, wipe, setWipe, toggleWipe, fit, zoomToPixels, onKeyDown, frame };
}

interface Point {
  x: number;
  y: number;
}

/** What is there stays there. Smaller than its frame only where `least` says so: its pixels may be. */
function zoomed({ scale: before, x, y }: Zoom, factor: number, at: Point, least = 1): Zoom {
  const scale = Math.min(maxScale, Math.max(Math.min(least, before), before * factor));
  const by = scale / before;
  return within({ scale, x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by });
}

/** What each frame listens to. */
function useFrame(zoomAt: (factor: number, at: Point) => void, drag: (from: Point, to: Point) => void) {
  const fingers = useRef(new Map<number, Point>()).current;
  const follow = (event: TargetedPointerEvent<HTMLElement>): void => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const now = placeIn(event);
    fingers.set(event.pointerId, now);
    const [other] = [...fingers].flatMap(([id, point]) => (id === event.pointerId ? [] : [point]));
    if (other === undefined) drag(before, now);
    else zoomAt(distance(now, other) / Math.max(0.01, distance(before, other)), other);
  };
  const leave = ({ pointerId }: PointerEvent): void => void fingers.delete(pointerId);
  return {
    onWheel: (event: TargetedWheelEvent<HTMLElement>): void => {
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), placeIn(event));
    },
    onPointerDown: (event: TargetedPointerEvent<HTMLElement>): void => {
      event.currentTarget.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, placeIn(event));
    },
    onPointerMove: follow,
    onPointerUp: leave,
    onPointerCancel: leave,
  };
}

/** From its middle, in sizes of the frame. */
function placeIn({ currentTarget, clientX, clientY }: TargetedMouseEvent<HTMLElement>): Point {
  const { left, top, width, height } = currentTarget.getBoundingClientRect();
  return { x: (clientX - left) / width - 0.5, y: (clientY - top) / height - 0.5 };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The picture never leaves its frame. */
function within({ scale, x, y }: Zoom): Zoom {
  const most = Math.max(0, scale - 1) / 2;
  return { scale, x: Math.min(most, Math.max(-most, x)), y: Math.min(most, Math.max(-most, y)) };
}

/** At which a pixel of the first picture is one of the screen. */
function scaleOfPixels(): number {
  const img = document.querySelector<HTMLImageElement>('.panes img');
  if (img === null || img.naturalWidth === 0) return 1;
  const { clientWidth, clientHeight, naturalWidth, naturalHeight } = img;
  return 1 / Math.min(clientWidth / naturalWidth, clientHeight / naturalHeight) / devicePixelRatio;
}

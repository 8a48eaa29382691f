/** One zoom for several pictures: by wheel, drag, pinch and keys. */
import type { TargetedMouseEvent, TargetedPointerEvent, TargetedWheelEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';

export interface Zoom {
  scale: number;
  /** How far the middle of the picture is from that of its frame, in sizes of the frame. */
  x: number;
  y: number;
}

const whole: Zoom = { scale: 1, x: 0, y: 0 };

const maxScale = 40;

interface Point {
  x: number;
  y: number;
}

/** `onDrag` is told the share of the frame where a drag is that moves no picture, since all of it is seen. */
export function useZoom(onDrag: (share: number) => void) {
  const [zoom, setZoom] = useState(whole);
  const fingers = useRef(new Map<number, Point>());
  const zoomAt = (factor: number, at: Point = { x: 0, y: 0 }): void =>
    setZoom(({ scale: before, x, y }) => {
      const scale = Math.min(maxScale, Math.max(1, before * factor));
      const by = scale / before;
      return within({ scale, x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by });
    });
  const move = (x: number, y: number): void =>
    setZoom((before) => within({ ...before, x: before.x + x, y: before.y + y }));
  const follow = (event: TargetedPointerEvent<HTMLElement>): void => {
    const before = fingers.current.get(event.pointerId);
    if (before === undefined) return;
    const now = placeIn(event);
    fingers.current.set(event.pointerId, now);
    const [other] = [...fingers.current].flatMap(([id, point]) => (id === event.pointerId ? [] : [point]));
    if (other !== undefined) zoomAt(distance(now, other) / Math.max(0.01, distance(before, other)), other);
    else if (zoom.scale > 1) move(now.x - before.x, now.y - before.y);
    else onDrag(now.x + 0.5);
  };
  const leave = (event: PointerEvent): void => void fingers.current.delete(event.pointerId);
  const frame = {
    onWheel: (event: TargetedWheelEvent<HTMLElement>): void => {
      event.preventDefault();
      zoomAt(Math.exp(-event.deltaY / (event.ctrlKey ? 100 : 400)), placeIn(event));
    },
    onPointerDown: (event: TargetedPointerEvent<HTMLElement>): void => {
      event.currentTarget.setPointerCapture(event.pointerId);
      fingers.current.set(event.pointerId, placeIn(event));
    },
    onPointerMove: follow,
    onPointerUp: leave,
    onPointerCancel: leave,
  };
  return { zoom, zoomAt, move, frame, fit: () => setZoom(whole) };
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
  const most = (scale - 1) / 2;
  return { scale, x: Math.min(most, Math.max(-most, x)), y: Math.min(most, Math.max(-most, y)) };
}

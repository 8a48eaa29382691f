/** Keeps whoever works by keyboard or ear in his place where the button that he pressed goes away. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** For an element that stays, with a `tabIndex` of -1: it has the focus once what had it within is gone. */
export function useFocusKept<E extends HTMLElement>(): RefObject<E | null> {
  const place = useRef<E | null>(null);
  const hadFocus = place.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && document.activeElement === document.body) place.current?.focus();
  });
  return place;
}

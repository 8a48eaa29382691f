/** The element that a key applies to: the pointer or the focus chooses it, whichever was used last. */

/** True if a click set the focus; the focused element shows where the pointer was, then. */
let isFocusOfPointer = false;

/** Notes in `data-aim` whether the pointer or the focus was used last. Keys and marks.css depend on it. */
export function followAim(signal: AbortSignal): void {
  const { dataset } = document.documentElement;
  let [isPressed, place] = [false, ''];
  const lead = (by: 'pointer' | 'focus'): void => {
    if (dataset['aim'] !== by) dataset['aim'] = by;
  };
  const onPointer = ({ type, buttons, screenX, screenY }: PointerEvent): void => {
    const now = `${screenX} ${screenY}`;
    // A page that scrolls under a resting pointer sends the same event, so the position is compared.
    if (now !== place || type === 'pointerdown') lead('pointer');
    [isPressed, place] = [buttons !== 0, now];
  };
  const options = { capture: true, signal };
  for (const type of ['pointermove', 'pointerdown', 'pointerup', 'pointercancel'] as const)
    addEventListener(type, onPointer, options);
  addEventListener(
    'focusin',
    () => {
      isFocusOfPointer = isPressed;
      if (!isPressed) lead('focus');
    },
    options,
  );
  addEventListener('keydown', ({ key }) => /^(Tab$|Arrow)/.test(key) && lead('focus'), options);
}

/**
 * Returns the element that a key applies to. That is the only one in an open dialog, or else the hovered or
 * focused one, whichever was used last.
 */
export function elementOfKey(event: KeyboardEvent, selector: string): HTMLElement | undefined {
  if (!isPlainKey(event)) return undefined;
  const within = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
  const all = within.querySelectorAll<HTMLElement>(selector);
  if (all.length === 1 && within !== document) return all[0];
  const hovered = within.querySelector<HTMLElement>(`:is(${selector}):hover`) ?? undefined;
  const focused = document.activeElement?.closest<HTMLElement>(selector) ?? undefined;
  if (document.documentElement.dataset['aim'] !== 'pointer') return focused ?? hovered;
  return hovered ?? (isFocusOfPointer ? undefined : focused);
}

/** True if the key is pressed without Ctrl, Alt or Meta, and not in a text field or list. */
export function isPlainKey({ target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  const isTyping = target instanceof Element && target.closest('input:not([type=range]), select, textarea');
  return !isTyping && !altKey && !ctrlKey && !metaKey;
}

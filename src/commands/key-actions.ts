/** What can be done with the keys of the service, for all who tell of it. */

export const keyActions = ['add', 'list', 'revoke'] as const;

export type KeyAction = (typeof keyActions)[number];

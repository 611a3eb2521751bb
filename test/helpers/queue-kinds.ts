const KINDS = ['postgres', 'redis'] as const

export type QueueKind = (typeof KINDS)[number]

/** The queue backends that a test tries: both in `npm run test:all`, the one that needs no Redis in `npm test`. */
export const queueKinds: readonly QueueKind[] = process.env['TEST_ALL'] === 'true' ? KINDS : ['postgres']

import { refusal, type FaultKinds } from './fault.ts'

/** Faults that depend on no chain. Probabilities are those of a bad day. */

const html = '<html><head><title>502 Bad Gateway</title></head><body>bad gateway</body></html>'

export const transportFaults: FaultKinds = {
  latency: {
    seenBy: 'visible',
    make:
      ({ now, below }) =>
      () =>
        now(0.2) ? { afterMs: 20 + below(400) } : null,
  },
  'time-outs': {
    ...{ seenBy: 'visible', isSlow: true },
    make:
      ({ now }) =>
      () =>
        now(0.02) ? 'hang' : null,
  },
  'dropped connections': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.05) ? 'drop' : null,
  },
  'dropped connections after the node did its work': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      async (_, truth) => {
        if (!now(0.05)) return null
        await truth()
        return 'drop'
      },
  },
  '429 with Retry-After': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.05) ? { status: 429, headers: { 'retry-after': '0.05' }, body: 'slow down' } : null,
  },
  '429 without Retry-After': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.03) ? { status: 429, body: '{"error":"Too Many Requests"}' } : null,
  },
  '500, 502, 503 and 504': {
    seenBy: 'visible',
    make:
      ({ now, below }) =>
      () =>
        now(0.05) ? { status: [500, 502, 503, 504][below(4)] ?? 500, body: 'upstream is away' } : null,
  },
  'HTML of a gateway': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.05) ? { status: 502, headers: { 'content-type': 'text/html' }, body: html } : null,
  },
  'HTML as if all were well': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.05) ? { body: '<html>please log in</html>' } : null,
  },
  'truncated JSON': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      async (_, truth) =>
        now(0.05) ? { body: JSON.stringify(await truth()).slice(0, -20) } : null,
  },
  'an empty body': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      () =>
        now(0.03) ? { body: '' } : null,
  },
  'a quota told as a JSON-RPC error': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      (requests) =>
        now(0.05)
          ? { body: refusal(requests[0]?.id, -32005, 'daily request count exceeded, rate limited') }
          : null,
  },
  'an internal error for one call of a batch': {
    seenBy: 'visible',
    make:
      ({ now, below }) =>
      async (requests, truth) => {
        if (!now(0.05)) return null
        const failing = requests[below(requests.length)]?.id
        return (await truth()).map((answer) =>
          answer.id === failing
            ? { id: answer.id, error: { code: -32603, message: 'Internal error' } }
            : answer,
        )
      },
  },
  'the answers of another request': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      async (_, truth) =>
        now(0.05) ? (await truth()).map((answer) => ({ ...answer, id: answer.id + 1_000_000 })) : null,
  },
  'half a batch': {
    seenBy: 'visible',
    make:
      ({ now }) =>
      async (_, truth, isBatch) =>
        isBatch && now(0.1) ? (await truth()).slice(1) : null,
  },
  'answers in another order': {
    seenBy: 'visible',
    make: () => async (requests, truth) => (requests.length > 1 ? (await truth()).reverse() : null),
  },
  'no batches at all': {
    seenBy: 'visible',
    make: () => (requests, _, isBatch) => (isBatch && requests.length > 1 ? tooLarge : null),
  },
  'batches of ten': {
    seenBy: 'visible',
    make: () => (requests, _, isBatch) => (isBatch && requests.length > 10 ? tooLarge : null),
  },
}

const tooLarge = { status: 400, body: refusal(null, -32600, 'the batch is too large') }

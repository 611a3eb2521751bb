import * as z from 'zod'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { askEveryone } from '../rpc/ask-everyone.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { keyParam, lotusCall } from './lotus-call.ts'

/** A question about the state at the start of a tipset, that is, after its parents' messages. */
export interface StateCall {
  method: string
  params: unknown[]
  /** The tipset's key. */
  at: string
}

/**
 * Returns each question's outcome in order: an answer, or a definite error. An error is definite if the actor does not
 * exist, or if no endpoint has the state or the method. Throws a RetryableError while an endpoint may still know: after
 * a time-out, an internal error or a tipset it has not seen.
 */
export function askState(client: RpcClient, what: string, calls: readonly StateCall[]): Promise<RpcAnswer[]> {
  if (calls.length === 0) return Promise.resolve([])
  return askEveryone(client, what, calls, {
    send: (endpoint, open) => endpoint.send(open.map(rpcCall)),
    nameOf,
    open: ['pruned', 'unsupported', 'too-large'],
    isWell,
  })
}

/** Epochs whose state every full node has (finality). A refusal of a newer state may be temporary. */
const RECENT_STATES = 900
const heightSchema = z.looseObject({ Height: z.int().nonnegative() })

/**
 * Returns whether an endpoint that refused an old state is healthy. It must answer the same question about its head and
 * know the tipset; then it is neither behind nor unavailable.
 */
async function isWell(endpoint: RpcEndpoint, call: StateCall): Promise<boolean> {
  const atHead = rpcCall({ ...call, at: '' })
  const answers = await endpoint.send([
    atHead,
    lotusCall('ChainGetTipSet', keyParam(call.at)),
    lotusCall('ChainHead'),
  ])
  const [newest, tipset, head] = answers
  if (newest === undefined || !(newest.ok || newest.kind === 'revert')) return false
  const [at, now] = [tipset, head].map((answer) => heightSchema.safeParse(answer?.ok ? answer.result : null))
  if (at?.success !== true || now?.success !== true) return false
  return now.data.Height - at.data.Height > RECENT_STATES
}

export function rpcCall({ method, params, at }: StateCall): RpcCall {
  return lotusCall(method, ...params, keyParam(at))
}

export function nameOf({ method, params, at }: StateCall): string {
  return `${method}/${JSON.stringify(params)}/${at}`
}

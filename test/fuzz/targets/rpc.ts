import { NodeVouchers } from '../../../indexer/sources/filecoin/node-vouchers.ts'
import type { HttpPost } from '../../../indexer/sources/rpc/http-post.ts'
import {
  RpcEndpoint,
  type EndpointOptions,
  type RpcAnswer,
} from '../../../indexer/sources/rpc/rpc-endpoint.ts'
import { EndpointFault, RateLimited } from '../../../indexer/sources/rpc/rpc-error.ts'
import { classifyLotusError } from '../../../indexer/sources/filecoin/classify-lotus-error.ts'
import { classifyRpcError } from '../../../indexer/sources/evm/classify-error.ts'
import { voucherForm } from '../../../devnet/filecoin/rpc/voucher-form.ts'
import { RetryableError } from '../../../shared/errors.ts'
import { parseAnswer } from '../../../indexer/sources/filecoin/lotus-client.ts'
import { MILLION, must, mustBeStorable, shown, type FuzzTarget, type Outcome } from '../fuzz-target.ts'
import { jsonLike, jsonSample } from '../mutate-json.ts'
import { nodeStoreClient } from '../../helpers/node-store.ts'
import { lotusSample, sampleVouchers } from '../samples.ts'

/** Long enough that a "slow down" fails at once without a wait, which is not under test. */
const RETRY_AFTER_MS = 10_000
const KEY = 'S3CR3T-key'
const URL = `http://node.example/${KEY}`

function options(isLotus: boolean, connect: () => HttpPost): EndpointOptions {
  return {
    ...{ maxConcurrent: 1, maxBatch: 3, timeoutMs: 1_000, connect },
    classify: isLotus ? classifyLotusError : classifyRpcError,
    ...(isLotus ? { parse: parseAnswer } : {}),
  }
}

function answering(status: number, text: string): () => HttpPost {
  return () => () => Promise.resolve({ status, retryAfterMs: RETRY_AFTER_MS, body: Buffer.from(text) })
}

interface BodyInput {
  body: string
  status: number
  calls: number
  isLotus: boolean
}

async function feedBody({ body, status, calls, isLotus }: BodyInput): Promise<Outcome> {
  const endpoint = new RpcEndpoint(URL, options(isLotus, answering(status, body)))
  try {
    const asked = Array.from({ length: calls }, () => ({ method: 'm', params: [] }))
    const answers = await endpoint.send(asked)
    must(answers.length === calls, 'an answer to each call')
    for (const answer of answers) checkAnswer(answer)
    return 'taken'
  } catch (error) {
    if (!(error instanceof EndpointFault || error instanceof RateLimited)) throw error
    mustBeStorable(error.message)
    must(!error.message.includes(KEY) && error.message.length < 400, 'a short message without the key')
    return 'refused'
  } finally {
    endpoint.close()
  }
}

function checkAnswer(answer: RpcAnswer): void {
  if (answer.ok) return
  mustBeStorable(answer.message)
  must(answer.message.length <= 300 && !answer.message.includes(KEY), 'a short message without the key')
}

const result = (id: number, value: unknown) => ({ jsonrpc: '2.0', id, result: value })
const failure = (id: number, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

const bodies: FuzzTarget = {
  name: 'rpc-body',
  about: 'bodies of JSON-RPC answers: an answer to each call, or a fault of the endpoint that shows no key',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const samples = [
      result(1, '0x10'),
      failure(1, -32000, `header not found at ${URL}`),
      failure(1, 3, 'execution reverted'),
      [result(1, null), result(2, { a: [1, 2, { b: 'c' }] }), result(3, [])],
      [result(3, 1), failure(1, -32601, `no method ${KEY}`), result(2, 18_446_744_073_709_552_000)],
    ].map((sample) => jsonSample(JSON.stringify(sample)))
    return {
      make: (random) => {
        const status = random.chance(0.9) ? 200 : random.pick([400, 401, 403, 404, 408, 413, 429, 500, 503])
        const body = jsonLike(random, samples)
        const input = { body, status, calls: random.chance(0.5) ? 1 : 3, isLotus: random.chance(0.5) }
        return { feed: () => feedBody(input), show: () => shown(input) }
      },
    }
  },
}

/** Reads the node’s own store like the indexer. */
async function feedStore(vouchers: string): Promise<Outcome> {
  const client = nodeStoreClient(URL, vouchers)
  try {
    const found = await new NodeVouchers(client, () => undefined).read()
    const unreadable = found.filter((item) => typeof item !== 'string')
    for (const item of unreadable) must(item.unreadable.length <= 2_000, 'what is shown of it is short')
    return found.length > unreadable.length ? 'taken' : 'refused'
  } catch (error) {
    if (error instanceof RetryableError) return 'refused'
    throw error
  } finally {
    client.rpc.close()
  }
}

const stores: FuzzTarget = {
  name: 'node-vouchers',
  about: 'JSON of a node’s voucher store: vouchers, those that are none with a reason, or a RetryableError',
  cases: MILLION,
  quickCases: 400,
  open: () => {
    const forms = sampleVouchers(20).map((voucher) => voucherForm(voucher, 't'))
    const samples = [
      ...forms.map((form) => lotusSample([form])),
      lotusSample(forms.slice(0, 2).map((form) => ({ Voucher: form, Proof: null }))),
    ]
    return {
      make: (random) => {
        const text = jsonLike(random, samples)
        return { feed: () => feedStore(text), show: () => shown(text) }
      },
    }
  },
}

export const RPC_TARGETS: readonly FuzzTarget[] = [bodies, stores]

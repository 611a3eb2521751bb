import * as z from 'zod'

/** An error that the node itself returned: it was reached and refused. */
export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal'
}

export interface RpcRequest {
  method: string
  params: unknown[]
}

/** A small JSON-RPC client over HTTP: it checks answers against a schema, and batches keep their order. */
export interface Rpc {
  readonly url: string
  /** Throws RpcRefusal when the node returns an error, TypeError or AbortError when the node is away. */
  call<T>(answer: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T>
  /** Sends all requests; throws on the first refusal. */
  all<T>(answer: z.ZodType<T>, requests: RpcRequest[]): Promise<T[]>
  /** Sends all requests; a refusal takes its answer's place. */
  settled<T>(answer: z.ZodType<T>, requests: RpcRequest[]): Promise<(T | RpcRefusal)[]>
}

const requestsPerBatch = 500

const responseSchema = z.object({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})

export const hex = z.string().regex(/^0x[0-9a-f]*$/i)
export const quantity = hex.transform((text) => Number(text))
export const anything = z.unknown()

export function createRpc(url: string, timeoutMs = 60_000): Rpc {
  async function settled<T>(answer: z.ZodType<T>, requests: RpcRequest[]): Promise<(T | RpcRefusal)[]> {
    const answers: (T | RpcRefusal)[] = []
    for (let from = 0; from < requests.length; from += requestsPerBatch)
      answers.push(...(await askBatch(answer, requests.slice(from, from + requestsPerBatch))))
    return answers
  }

  async function askBatch<T>(answer: z.ZodType<T>, requests: RpcRequest[]): Promise<(T | RpcRefusal)[]> {
    const body = requests.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const byId = new Map(
      z
        .array(responseSchema)
        .parse(await response.json())
        .map((one) => [one.id, one]),
    )
    return requests.map(({ method }, id) => {
      const one = byId.get(id)
      if (one === undefined) throw new Error(`${method}: the node left a request of a batch unanswered`)
      if (one.error !== undefined) return new RpcRefusal(`${method}: ${one.error.message}`)
      return answer.parse(one.result)
    })
  }

  async function all<T>(answer: z.ZodType<T>, requests: RpcRequest[]): Promise<T[]> {
    const answers = await settled(answer, requests)
    return answers.map((one) => {
      if (one instanceof RpcRefusal) throw one
      return one
    })
  }

  async function call<T>(answer: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T> {
    const [one] = await all(answer, [{ method, params }]).then((answers) =>
      answers.map((value) => ({ value })),
    )
    if (one === undefined) throw new Error(`${method}: no answer`)
    return one.value
  }

  return { url, call, all, settled }
}

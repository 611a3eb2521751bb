import * as z from 'zod'
import { parseLotusJson } from '../../shared/filecoin/lotus-json.ts'
import { RpcRefusal } from '../evm/rpc.ts'

/** Sends one request to a Lotus node; throws RpcRefusal where the node returns an error. */
export interface LotusRpc {
  call<T>(answer: z.ZodType<T>, method: string, ...params: unknown[]): Promise<T>
}

const responseSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})

export const cidSchema = z.object({ '/': z.string() }).transform((cid) => cid['/'])
export const tipsetSchema = z.object({
  Cids: z.array(cidSchema),
  Blocks: z.array(z.object({ Parents: z.array(cidSchema), Timestamp: z.number() })),
  Height: z.number(),
})
export type Tipset = z.infer<typeof tipsetSchema>

export function createLotusRpc(url: string, token?: string): LotusRpc {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return {
    async call(answer, method, ...params) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...authorization },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `Filecoin.${method}`, params }),
        signal: AbortSignal.timeout(60_000),
      })
      const { result, error } = responseSchema.parse(parseLotusJson(await response.text()))
      if (error !== undefined) throw new RpcRefusal(`${method}: ${error.message}`)
      return answer.parse(result)
    },
  }
}

export function asCid(cid: string): { '/': string } {
  return { '/': cid }
}

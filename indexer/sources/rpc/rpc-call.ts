import type { RpcErrorKind } from './rpc-error.ts'

export interface RpcCall {
  method: string
  params: unknown[]
}

export type RpcAnswer =
  { ok: true; result: unknown } | { ok: false; kind: RpcErrorKind; code: number; message: string }

/** The result of one call, and how it was said: its request's id, and the bytes of the answer. */
export interface SaidResult {
  id: number
  body: Buffer
  result: unknown
}

/** One HTTP request and its answers, in the calls' order. */
export interface Exchange {
  /** Of the first request. */
  id: number
  body: Buffer
  answers: RpcAnswer[]
  /** Whether the bytes are those of the answer before. */
  isRepeated: boolean
}

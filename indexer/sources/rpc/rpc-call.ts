import type { RpcErrorKind } from './rpc-error.ts'

export interface RpcCall {
  method: string
  params: unknown[]
}

export type RpcAnswer =
  { ok: true; result: unknown } | { ok: false; kind: RpcErrorKind; code: number; message: string }

/** Answers to one HTTP request, in the calls' order. */
export interface Exchange {
  answers: RpcAnswer[]
  /** Size of the unpacked body in bytes. */
  bytes: number
}

import { CID } from 'multiformats/cid'
import type { FilecoinAddress } from './address.ts'
import { readAddress, readBytes, readTuple } from './cbor-fields.ts'
import { decodeCbor } from './cbor.ts'
import { DecodeError } from './decode-error.ts'

/** The Init actor, `f01`. */
export const INIT_ACTOR_ID = 1n

/** Parameters of Exec, by which the Init actor (`f01`) creates an actor of the given code. */
export interface ExecParams {
  /** Text, as nodes print it. */
  codeCid: string
  /** The constructor's parameters, as CBOR. */
  params: Uint8Array
}

/** Throws a {@link DecodeError}. */
export function decodeExecParams(bytes: Uint8Array): ExecParams {
  const [code, params] = readTuple(decodeCbor(bytes), [2], 'Exec params')
  const cid = CID.asCID(code)
  if (cid === null) throw new DecodeError('Exec code: no CID')
  return { codeCid: cid.toString(), params: readBytes(params, 'Exec constructor params') }
}

/** The payer and the recipient of a channel's funds. */
export interface ChannelParties {
  from: FilecoinAddress
  to: FilecoinAddress
}

/** Throws a {@link DecodeError}. */
export function decodeConstructorParams(bytes: Uint8Array): ChannelParties {
  const [from, to] = readTuple(decodeCbor(bytes), [2], 'channel constructor params')
  return { from: readAddress(from, 'channel from'), to: readAddress(to, 'channel to') }
}

/** The actor that Exec created: its number on this branch of the chain, and its permanent address. */
export interface ExecReturn {
  idAddress: FilecoinAddress
  robustAddress: FilecoinAddress
}

/** Throws a {@link DecodeError}. */
export function decodeExecReturn(bytes: Uint8Array): ExecReturn {
  const [id, robust] = readTuple(decodeCbor(bytes), [2], 'Exec return')
  return {
    idAddress: readAddress(id, 'Exec return ID address'),
    robustAddress: readAddress(robust, 'Exec return robust address'),
  }
}

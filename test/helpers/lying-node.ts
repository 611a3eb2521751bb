import type { Fault } from '../chain/sources/faulty-proxy.ts'

/** What a node that lies (or is broken) says otherwise than the true one. */
export interface Lies {
  /** Senders whose failed messages it calls executed: whatever they put into parameters then counts. */
  succeeds: Set<string>
  /** Vouchers that its store has besides, by channel: JSON texts, for what no number of JavaScript can hold. */
  vouchers: Map<string, string[]>
  /** How many receipts it told otherwise. */
  told: number
}

interface ExecutedJson {
  Message: { From: string }
}

/** For `startProxy`: answers truly, except for the lies. */
export function lyingNode(lies: Lies): Fault {
  return async (requests, truth, isBatch) => {
    const isTouched = requests.some(({ method }) =>
      /ParentReceipts$|PaychVoucherList$|PaychList$/.test(method),
    )
    if (!isTouched) return null
    const answers = await truth()
    const resultOf = (method: string, param: unknown): unknown => {
      const asked = requests.find(
        (request) =>
          request.method.endsWith(method) && JSON.stringify(request.params) === JSON.stringify(param),
      )
      return answers.find(({ id }) => id === asked?.id)?.result
    }
    const texts = answers.map((answer) => {
      const asked = requests.find(({ id }) => id === answer.id)
      const [channel] = asked?.params ?? []
      if (asked?.method.endsWith('ParentReceipts') === true) {
        const messages = resultOf('ParentMessages', asked.params)
        return JSON.stringify({ ...answer, result: receipts(lies, messages, answer.result) })
      }
      if (asked?.method.endsWith('PaychList') === true) {
        const listed = Array.isArray(answer.result) ? (answer.result as string[]) : []
        return JSON.stringify({ ...answer, result: [...new Set([...listed, ...lies.vouchers.keys()])] })
      }
      const more = typeof channel === 'string' ? lies.vouchers.get(channel) : undefined
      if (more === undefined) return JSON.stringify(answer)
      const listed = Array.isArray(answer.result) ? answer.result.map((item) => JSON.stringify(item)) : []
      return `{"jsonrpc":"2.0","id":${answer.id},"result":[${[...listed, ...more].join()}]}`
    })
    return { body: isBatch ? `[${texts.join()}]` : (texts[0] ?? '') }
  }
}

function receipts(lies: Lies, messages: unknown, answer: unknown): unknown {
  if (!Array.isArray(messages) || !Array.isArray(answer)) return answer
  return answer.map((receipt: { ExitCode: number }, index) => {
    const { Message } = messages[index] as ExecutedJson
    if (receipt.ExitCode === 0 || !lies.succeeds.has(Message.From)) return receipt
    lies.told += 1
    return { ...receipt, ExitCode: 0 }
  })
}

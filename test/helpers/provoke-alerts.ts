import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { documentedHealth, type HealthAnswers } from './health-answers.ts'
import type { Prometheus } from './prometheus.ts'

/** One way of being unwell. */
export interface Provocation {
  alert: string
  begin: () => unknown
  end: () => unknown
  /** The row of docs/operations.md that says what the programs answer meanwhile. */
  state?: string
}

const ANSWERS_WITHIN_MS = 120_000

/**
 * Provokes alerts one after the other. Each must fire alone and end. `answers` reads what the programs say about their
 * health; that must become what the documentation says.
 */
export function provoker(
  t: Test,
  prometheus: Prometheus,
  answers?: () => Promise<HealthAnswers>,
): (provocation: Provocation) => Promise<void> {
  return async ({ alert, begin, end, state }) => {
    t.same(await prometheus.until([]), [], `nothing fires before ${alert}`)
    await begin()
    t.same(await prometheus.until([alert]), [], `${alert} fires alone`)
    if (state !== undefined && answers !== undefined) await untilAnswers(t, answers, state)
    await end()
    const others = (await prometheus.until([])).filter((name) => name !== alert)
    t.same(others, [], `${alert} ends`)
  }
}

/** Waits until the programs answer as docs/operations.md says of this state. */
export async function untilAnswers(
  t: Test,
  answers: () => Promise<HealthAnswers>,
  state: string,
): Promise<void> {
  const expected = documentedHealth().get(state)
  const untilMs = performance.now() + ANSWERS_WITHIN_MS
  let found = await answers()
  while (JSON.stringify(found) !== JSON.stringify(expected) && performance.now() < untilMs) {
    await delay(500)
    found = await answers()
  }
  t.same(found, expected, `what is answered: ${state}`)
}

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export interface AlertRule {
  alert: string
  expr: string
  for?: string
  annotations: { summary: string; runbook_url: string }
}

export const RULES_FILE = fileURLToPath(new URL('../../deploy/prometheus-rules.yml', import.meta.url))

/** The alerts of deploy/prometheus-rules.yml. */
export function alertRules(): AlertRule[] {
  const { groups } = parse(readFileSync(RULES_FILE, 'utf8')) as { groups: { rules: AlertRule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

{{- define "assay.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ end }}
{{- end }}

{{- define "assay.labels" -}}
{{ toJson (dict "app.kubernetes.io/part-of" "assay" "app.kubernetes.io/managed-by" .Release.Service "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version)) }}
{{- end }}

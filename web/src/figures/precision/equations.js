import { windowLength } from './precision.js';

export const error = String.raw`{P_{i,2j} = \sin\frac{i}{b^{2j/d}}},\qquad\allowbreak {\htmlData{part=usual}{\tilde P_{i,2j}} = \mathrm{fl}\Bigl(\sin\,\mathrm{fl}\Bigl(\frac{i}{\mathrm{fl}(b^{2j/d})}\Bigr)\Bigr)},\qquad\allowbreak {\htmlData{part=core}{\hat P_{i,2j}} = \mathrm{fl}\Bigl(\sin\frac{i}{b^{2j/d}}\Bigr)}`;

export const drift = String.raw`{\htmlData{part=change}{\max_{k,l}\bigl|\,W^{(s)}_{kl} - W^{(0)}_{kl}\,\bigr|}},\qquad\allowbreak {\htmlData{part=weights}{W^{(s)}} = \operatorname{softmax}\frac{P_s P_s^\top}{\sqrt d}},\qquad\allowbreak {P_s = P_{s,\,\dots,\,s+${windowLength - 1}}}`;

export const bytes = String.raw`{\htmlData{part=encoding}{\hat X} = \mathrm{round}(X)},\qquad\allowbreak {\htmlData{part=scores}{\hat S} = \frac{X \hat X^\top}{\sqrt d}},\qquad\allowbreak {\htmlData{part=weights}{\hat W} = \operatorname{softmax}\hat S},\qquad\allowbreak {\text{int8: }\; \hat x_{ic} = s_i\,\mathrm{round}\frac{x_{ic}}{s_i},\;\; s_i = \frac{\max_c |x_{ic}|}{127}}`;

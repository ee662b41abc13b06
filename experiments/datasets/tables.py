"""Specifications of the tables of the UCI repository.

`columns` is the order of the official file: `class` is the target, `-` an identifier that is left out. Numbers end in `#`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UCI_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: its columns, into how many attributes (`d`) each is encoded, and the format of its official file.

    `attributes` is the paper's number of binary attributes. The checksums of the official files are not known to us;
    `digest` is that of the content (see `uci.digest`), in whatever order its rows and however its numbers are written.
    """

    name: str
    d: int
    attributes: int
    learnable: bool
    rows: int
    digest: str
    source: str
    columns: tuple[str, ...]
    numbers: frozenset[str]
    delimiter: str | None = ","
    header: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns without class and identifiers."""
        return tuple(column for column in self.columns if column not in ("class", "-"))

    @property
    def categories(self) -> frozenset[str]:
        return frozenset(self.inputs) - self.numbers

    @property
    def file(self) -> str:
        """The path of our copy in a data folder."""
        return f"uci/{'congressional-voting' if self.name == 'congressional' else self.name}.csv"


def plain(column: str) -> str:
    """The name of a column in our files.

    >>> plain("sudden weight loss"), plain("A1"), plain("veil-type")
    ('sudden_weight_loss', 'a1', 'veil_type')
    """
    return re.sub(r"[^a-z0-9]+", "_", column.lower())


def _spec(
    name: str,
    source: str,
    columns: str,
    *,
    d: int,
    attributes: int,
    rows: int,
    digest: str,
    learnable: bool = True,
    delimiter: str | None = ",",
    header: bool = False,
) -> TableSpec:
    named = columns.split()
    return TableSpec(
        name,
        d,
        attributes,
        learnable,
        rows,
        digest,
        source,
        columns=tuple(column.removesuffix("#") for column in named),
        numbers=frozenset(column.removesuffix("#") for column in named if column.endswith("#")),
        delimiter=delimiter,
        header=header,
    )


_ALL = (
    _spec(
        "breast-cancer",
        "breast-cancer-wisconsin/breast-cancer-wisconsin.data",
        """- clump_thickness# uniformity_cell_size# uniformity_cell_shape# marginal_adhesion# single_epithelial_cell_size#
        bare_nuclei# bland_chromatin# normal_nucleoli# mitoses# class""",
        d=4,
        attributes=43,
        rows=699,
        digest="bb15a2f3af03d2ff",
    ),
    _spec(
        "car-evaluation",
        "car/car.data",
        "buying maint doors persons lug_boot safety class",
        d=4,
        attributes=21,
        rows=1728,
        digest="77decedbcd0612d5",
    ),
    _spec(
        "congressional",
        "voting-records/house-votes-84.data",
        """class handicapped_infants water_project_cost_sharing adoption_of_the_budget_resolution physician_fee_freeze
        el_salvador_aid religious_groups_in_schools anti_satellite_test_ban aid_to_nicaraguan_contras mx_missile
        immigration synfuels_corporation_cutback education_spending superfund_right_to_sue crime duty_free_exports
        export_administration_act_south_africa""",
        d=2,
        attributes=16,
        rows=435,
        digest="2ee8a6fb1a0436a6",
    ),
    _spec(
        "credit-approval",
        "credit-screening/crx.data",
        "a1 a2# a3# a4 a5 a6 a7 a8# a9 a10 a11# a12 a13 a14# a15# class",
        d=2,
        attributes=15,
        rows=690,
        digest="0459507494bd3ac9",
    ),
    _spec(
        "dermatology",
        "dermatology/dermatology.data",
        """erythema# scaling# definite_borders# itching# koebner_phenomenon# polygonal_papules# follicular_papules#
        oral_mucosal_involvement# knee_and_elbow_involvement# scalp_involvement# family_history# melanin_incontinence#
        eosinophils_in_the_infiltrate# pnl_infiltrate# fibrosis_of_the_papillary_dermis# exocytosis# acanthosis#
        hyperkeratosis# parakeratosis# clubbing_of_the_rete_ridges# elongation_of_the_rete_ridges#
        thinning_of_the_suprapapillary_epidermis# spongiform_pustule# munro_microabcess# focal_hypergranulosis#
        disappearance_of_the_granular_layer# vacuolisation_and_damage_of_basal_layer# spongiosis#
        saw_tooth_appearance_of_retes# follicular_horn_plug# perifollicular_parakeratosis#
        inflammatory_monoluclear_inflitrate# band_like_infiltrate# age# class""",
        d=2,
        attributes=34,
        rows=366,
        digest="bddf18839871f78d",
    ),
    _spec(
        "diabetes",
        "00529/diabetes_data_upload.csv",
        """age# gender polyuria polydipsia sudden_weight_loss weakness polyphagia genital_thrush visual_blurring itching
        irritability delayed_healing partial_paresis muscle_stiffness alopecia obesity class""",
        d=2,
        attributes=16,
        rows=520,
        digest="35d8ea458eb02843",
        header=True,
    ),
    _spec(
        "iris",
        "iris/iris.data",
        "sepal_length# sepal_width# petal_length# petal_width# class",
        d=3,
        attributes=12,
        rows=150,
        digest="42881a7ac0937e6d",
    ),
    _spec(
        "mushroom",
        "mushroom/agaricus-lepiota.data",
        """class cap_shape cap_surface cap_color bruises odor gill_attachment gill_spacing gill_size gill_color stalk_shape
        stalk_root stalk_surface_above_ring stalk_surface_below_ring stalk_color_above_ring stalk_color_below_ring
        veil_type veil_color ring_number ring_type spore_print_color population habitat""",
        d=2,
        attributes=22,
        rows=8124,
        digest="91a405c6315abc62",
    ),
    _spec(
        "wine",
        "wine/wine.data",
        """class alcohol# malic_acid# ash# alcalinity_of_ash# magnesium# total_phenols# flavanoids# nonflavanoid_phenols#
        proanthocyanins# color_intensity# hue# od280_od315_of_diluted_wines# proline#""",
        d=2,
        attributes=13,
        rows=178,
        digest="637bacab36f904dd",
    ),
    _spec(
        "zoo",
        "zoo/zoo.data",
        """- hair feathers eggs milk airborne aquatic predator toothed backbone breathes venomous fins legs# tail domestic
        catsize class""",
        d=2,
        attributes=16,
        rows=101,
        digest="69e36f20e18a2ebc",
    ),
    _spec(
        "blood-transfusion",
        "blood-transfusion/transfusion.data",
        "recency_months# frequency_times# monetary_cc_blood# time_months# class",
        d=4,
        attributes=16,
        rows=748,
        digest="9dd11b43a46fb30b",
        learnable=False,
        header=True,
    ),
    _spec(
        "contraceptive",
        "cmc/cmc.data",
        """wife_age# wife_education husband_education n_children_ever_born# wife_religion wife_now_working
        husband_occupation standard_of_living_index media_exposure class""",
        d=4,
        attributes=27,
        rows=1473,
        digest="cb6a6fbf71ae5e70",
        learnable=False,
    ),
    _spec(
        "hepatitis",
        "hepatitis/hepatitis.data",
        """class age# sex steroid antivirals fatigue malaise anorexia liver_big liver_firm spleen_palpable spiders ascites
        varices bilirubin# alk_phosphate# sgot# albumin# protime# histology""",
        d=4,
        attributes=51,
        rows=155,
        digest="6b2290394c5a668a",
        learnable=False,
    ),
    _spec(
        "statlog-german",
        "statlog/german/german.data",
        """checking_status duration_months# credit_history purpose credit_amount# savings_status employment_since
        installment_rate# personal_status_sex other_debtors residence_since# property age# other_installment_plans
        housing existing_credits# job num_dependents# telephone foreign_worker class""",
        d=4,
        attributes=64,
        rows=1000,
        digest="4e5ed92ae35ca26a",
        learnable=False,
        delimiter=None,
    ),
    _spec(
        "yeast",
        "yeast/yeast.data",
        "- mcg# gvh# alm# mit# erl# pox# vac# nuc# class",
        d=4,
        attributes=32,
        rows=1484,
        digest="3edf9aac44a6189e",
        learnable=False,
        delimiter=None,
    ),
)

UCI: dict[str, TableSpec] = {spec.name: spec for spec in _ALL}
